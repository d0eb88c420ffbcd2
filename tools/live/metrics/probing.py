"""Where a server has samples of what is asked about, and how often they were taken; learned by counting a few."""

import math

from tools.live.metrics.prometheus import Prometheus, Span
from tools.live.metrics.sampling import PROBED, Frame, Sampling, sampling
from tools.live.metrics.spelling import duration

_MOMENTS = 8
_FINE_POINTS = 600


async def probe_sampling(source: Prometheus, frame: Frame, selector: str, *, series: int) -> Sampling:
    """Return how finely to ask about a frame. `selector` selects series of one metric; `series` are expected.

    A service that is minutes old is asked about as finely as its minutes allow. Raises SourceFailure.
    """
    now, scraping = await _present(source, frame)
    begin, probed = frame.read.start, PROBED.total_seconds()
    step = max(1, math.floor((now - begin) / _MOMENTS))
    counted = await source.range(_counting(selector, duration(PROBED)), Span(begin + step, now), step)
    seen = sorted(at for one in counted.series for at in one.times)
    if not seen:
        return sampling(Span(begin, now), samples=None, series=series)
    end = now
    if seen[0] > begin + step:
        begin = (await _samples_within(source, selector, Span(seen[0] - step, seen[0]))).start
    if not scraping:
        end = (await _samples_within(source, selector, Span(seen[-1] - probed, min(seen[-1] + step, now)))).end
    most = max(value for one in counted.series for value in one.values)
    return sampling(Span(begin, max(begin, end)), samples=most, series=series)


async def _present(source: Prometheus, frame: Frame) -> tuple[float, bool]:
    """Return where a frame ends for now (there are no samples of the future), and whether the server scrapes anything
    then. Where it doesn't, its samples were pushed or back-filled, and may have ended long before.

    The server's clock counts. A frame that begins after it holds samples that were given times to come: all of them.
    """
    scraped = await source.instant("count(up)", frame.end)
    if scraped.clock is None or not frame.start < scraped.clock < frame.end:
        return frame.end, bool(scraped.series)
    return scraped.clock, bool((await source.instant("count(up)", scraped.clock)).series)


async def _samples_within(source: Prometheus, selector: str, stretch: Span) -> Span:
    """Return where in a stretch the selected samples begin and end, to a six hundredth of it; the stretch itself where
    there are none."""
    step = max(1, math.ceil((stretch.end - stretch.start) / _FINE_POINTS))
    found = await source.range(_counting(selector, f"{step}s"), stretch, step)
    times = [at for one in found.series for at in one.times]
    return Span(min(times) - step, max(times)) if times else stretch


def _counting(selector: str, length: str) -> str:
    return f"max(count_over_time({selector}[{length}]))"
