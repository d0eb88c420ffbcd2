"""Settings of log sources: what environment variables can say, and what is refused before anything is asked."""

import pytest
from pydantic import ValidationError

from tools.base import SourceFailure
from tools.live.logs.settings import ElasticsearchSettings, LokiSettings


def test_names_come_from_the_environment_separated_by_commas() -> None:
    settings = LokiSettings.model_validate({"url": "http://loki:3100", "service_labels": "app, job"})
    assert settings.service_labels == ("app", "job")


@pytest.mark.parametrize("label", ["a-b", 'a"b', "a} or {b", ""])
def test_a_label_is_a_name_and_no_query(label: str) -> None:
    with pytest.raises(ValidationError):
        LokiSettings.model_validate({"url": "http://loki:3100", "service_labels": [label]})


def test_a_selector_is_brought_into_one_form() -> None:
    settings = LokiSettings(url="http://loki:3100", selector="{ env='prod', cluster=\"east\" }")
    assert settings.selector == 'cluster="east",env="prod"'
    assert LokiSettings(url="http://loki:3100").selector == ""


@pytest.mark.parametrize("selector", ['{a="b"} |= "x"', "up{a='b'}", "a b"])
def test_what_is_more_than_matchers_is_no_selector(selector: str) -> None:
    with pytest.raises(ValidationError):
        LokiSettings(url="http://loki:3100", selector=selector)


@pytest.mark.parametrize("index", ["logs-*/_search", "../x", "Logs", "a b", "logs?q=1", ""])
def test_an_index_pattern_is_no_path(index: str) -> None:
    with pytest.raises(ValidationError):
        ElasticsearchSettings(url="http://es:9200", index=index)


def test_opensearch_is_another_name_of_it() -> None:
    assert ElasticsearchSettings(url="http://es:9200", type="opensearch").type == "opensearch"


def test_an_api_key_is_sent_as_such_and_never_shown() -> None:
    settings = ElasticsearchSettings.model_validate({"url": "http://es:9200", "api_key": "id-and-key"})
    assert settings.access().credentials() == {"Authorization": "ApiKey id-and-key"}
    assert "id-and-key" not in repr(settings)


def test_one_way_in_is_enough() -> None:
    with pytest.raises(ValidationError):
        ElasticsearchSettings.model_validate({"url": "http://es:9200", "api_key": "a", "username": "u"})


def test_a_key_file_that_is_not_there_lets_nobody_in() -> None:
    settings = ElasticsearchSettings.model_validate({"url": "http://es:9200", "api_key_file": "/nowhere/key"})
    with pytest.raises(SourceFailure):
        settings.access().credentials()
