"""Images of containers, as far as they tell which version runs."""

from collections.abc import Iterable


def versions_of(images: Iterable[str]) -> str | None:
    """Return the different tags of images with commas, three at most; None where they have none."""
    tags = dict.fromkeys(tag for image in images if (tag := image_tag(image)))
    return ",".join(list(tags)[:3]) or None


def image_tag(image: str) -> str:
    """Return an image's tag, else its digest; blank where it has neither."""
    name, _, digest = image.partition("@")
    return name.rpartition("/")[2].partition(":")[2] or digest
