"""Draw the figures of the course as SVG files.

    python3 make_figures.py

writes every figure into the folder of this file. Only the standard library is
used. The simulated data come from seeded generators and all coordinates are
rounded, so that the same files come out, byte for byte, each time.
"""

from __future__ import annotations

from itertools import combinations
from math import exp, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist, linear_regression, mean, median, stdev
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent

INK, GREY, PALE = "#222222", "#777777", "#dddddd"
BLUE, ORANGE, LIGHT = "#0b5c94", "#c8500a", "#a9cde4"

# --- the data of the course ---------------------------------------------------

# The nap study: twelve students, as listed in chapter 1.
SLEEP = [7.5, 6.0, 8.0, 5.0, 6.5, 8.5, 6.5, 7.5, 9.0, 5.5, 7.5, 6.5]
RECALL = [14, 12, 16, 10, 14, 14, 11, 12, 16, 9, 14, 14]
NAP = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]

# Anscombe's four data sets (Anscombe, 1973): x, y.
_X = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
ANSCOMBE = [
    (_X, [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]),
    (_X, [9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74]),
    (_X, [7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73]),
    (
        [8, 8, 8, 8, 8, 8, 8, 19, 8, 8, 8],
        [6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89],
    ),
]


def reaction_times(n: int, seed: int = 11) -> list[int]:
    """Simulated reaction times in milliseconds, skewed to the right."""
    random = Random(seed).random
    normal = NormalDist(5, 0.5)
    return [round(200 + exp(normal.inv_cdf(random()))) for _ in range(n)]


def nights(n: int, random: Random) -> list[float]:
    """Hours slept by n students, drawn from a normal population (7.0, 1.2)."""
    normal = NormalDist(7.0, 1.2)
    return [normal.inv_cdf(random.random()) for _ in range(n)]


def permutation_differences() -> list[float]:
    """Mean recall, nap minus no nap, for all 924 ways to form the groups."""
    total = sum(RECALL)
    return [(2 * sum(chosen) - total) / 6 for chosen in combinations(RECALL, 6)]


# --- drawing ------------------------------------------------------------------


def _n(value: float) -> str:
    """A coordinate, rounded, without trailing zeros or a negative zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _label(value: float) -> str:
    return f"{value:g}".replace("-", "\u2212")


def steps(start: float, stop: float, by: float) -> list[float]:
    count = round((stop - start) / by)
    return [round(start + i * by, 10) for i in range(count + 1)]


class Plot:
    """One panel: axes with labels, and what is drawn between them.

    `x` and `y` are (from, to, distance between ticks); an axis whose distance
    is 0 has no ticks.
    """

    def __init__(self, xlabel, ylabel, x, y, title="", width=600, height=360):
        self.x, self.y = x, y
        self.width, self.height = width, height
        self.left, self.right = 62, 16
        self.top, self.bottom = (36 if title else 18), 52
        self.items: list[str] = []
        self._axes(xlabel, ylabel, title)
        self.axes, self.items = self.items, []

    # coordinates of the data -> coordinates of the picture
    def px(self, x):
        span = self.width - self.left - self.right
        return self.left + (x - self.x[0]) / (self.x[1] - self.x[0]) * span

    def py(self, y):
        span = self.height - self.top - self.bottom
        return (
            self.height - self.bottom - (y - self.y[0]) / (self.y[1] - self.y[0]) * span
        )

    def _write(self, x, y, text, anchor="middle", colour=INK, size=14, extra=""):
        self.items.append(
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" '
            f'font-size="{size}" fill="{colour}"{extra}>{escape(text)}</text>'
        )

    def _stroke(self, x1, y1, x2, y2, colour=INK, width=1.0, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.items.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
            f'stroke="{colour}" stroke-width="{_n(width)}"{dashes}/>'
        )

    def _axes(self, xlabel, ylabel, title):
        left, right = self.px(self.x[0]), self.px(self.x[1])
        low, high = self.py(self.y[0]), self.py(self.y[1])
        self._stroke(left, low, right, low)
        if self.x[2]:
            for value in steps(*self.x):
                self._stroke(self.px(value), low, self.px(value), low + 5)
                self._write(self.px(value), low + 20, _label(value), size=13)
        if self.y[2]:
            self._stroke(left, low, left, high)
            for value in steps(*self.y):
                self._stroke(left - 5, self.py(value), left, self.py(value))
                self._write(
                    left - 9, self.py(value) + 4.5, _label(value), "end", size=13
                )
        self._write((left + right) / 2, low + 42, xlabel)
        if ylabel:
            middle = (low + high) / 2
            self._write(
                18, middle, ylabel, extra=f' transform="rotate(-90 18 {_n(middle)})"'
            )
        if title:
            self._write((left + right) / 2, 20, title, extra=' font-weight="bold"')

    # what a figure is made of
    def points(self, xs, ys, colour=BLUE, radius=5):
        for x, y in zip(xs, ys):
            self.items.append(
                f'<circle cx="{_n(self.px(x))}" cy="{_n(self.py(y))}" r="{radius}" '
                f'fill="{colour}" stroke="white" stroke-width="1"/>'
            )

    def segment(self, x1, y1, x2, y2, colour=INK, width=2, dash=""):
        self._stroke(
            self.px(x1), self.py(y1), self.px(x2), self.py(y2), colour, width, dash
        )

    def vline(self, x, label="", colour=ORANGE, anchor="start", top=None, dash="6 4"):
        top = self.y[1] if top is None else top
        self.segment(x, self.y[0], x, top, colour, 2, dash)
        if label:
            gap = {"start": 6, "end": -6, "middle": 0}[anchor]
            self._write(self.px(x) + gap, self.py(top) + 12, label, anchor, colour)

    def text(self, x, y, label, anchor="middle", colour=INK):
        self._write(self.px(x), self.py(y), label, anchor, colour)

    def histogram(self, values, start, width, colour=LIGHT, share=False):
        """Bars over [start, start + width), …; counts, or shares of the whole."""
        counts: dict[int, int] = {}
        for value in values:
            cell = int((value - start) // width)
            counts[cell] = counts.get(cell, 0) + 1
        for cell, count in sorted(counts.items()):
            height = 100 * count / len(values) if share else count
            self.bar(start + cell * width, start + (cell + 1) * width, height, colour)

    def bar(self, x1, x2, height, colour=LIGHT):
        if height <= 0:
            return
        self.items.append(
            f'<rect x="{_n(self.px(x1))}" y="{_n(self.py(height))}" '
            f'width="{_n(self.px(x2) - self.px(x1))}" '
            f'height="{_n(self.py(0) - self.py(height))}" '
            f'fill="{colour}" stroke="white" stroke-width="1"/>'
        )

    def curve(self, function, start, stop, colour=INK, width=2, pieces=160):
        at = [start + (stop - start) * i / pieces for i in range(pieces + 1)]
        path = " ".join(f"{_n(self.px(x))},{_n(self.py(function(x)))}" for x in at)
        self.items.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )

    def area(self, function, start, stop, colour=LIGHT, pieces=80):
        at = [start + (stop - start) * i / pieces for i in range(pieces + 1)]
        corners = [(start, 0.0)] + [(x, function(x)) for x in at] + [(stop, 0.0)]
        path = " ".join(f"{_n(self.px(x))},{_n(self.py(y))}" for x, y in corners)
        self.items.append(f'<polygon points="{path}" fill="{colour}" stroke="none"/>')


def save(name: str, *plots: Plot, columns: int = 1) -> None:
    """Write the panels, row by row, into one SVG file beside this program."""
    rows = [plots[i : i + columns] for i in range(0, len(plots), columns)]
    width = max(sum(plot.width for plot in row) for row in rows)
    height = sum(max(plot.height for plot in row) for row in rows)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"',
        f'  width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    down = 0
    for row in rows:
        across = 0
        for plot in row:
            lines.append(f'<g transform="translate({across} {down})">')
            lines += plot.items + plot.axes
            lines.append("</g>")
            across += plot.width
        down += max(plot.height for plot in row)
    lines.append("</svg>")
    (HERE / name).write_bytes(("\n".join(lines) + "\n").encode("utf-8"))


# --- the figures --------------------------------------------------------------


def draw_reaction_times():
    times = reaction_times(60)
    plot = Plot(
        "reaction time (ms)", "number of trials", x=(200, 900, 100), y=(0, 25, 5)
    )
    plot.histogram(times, start=200, width=50)
    plot.vline(median(times), "median", anchor="end")
    plot.vline(mean(times), "mean", anchor="start")
    save("reaction-times.svg", plot)


def draw_normal_curve():
    f = NormalDist(0, 1).pdf
    plot = Plot(
        "Distance from the mean in standard deviations (z)",
        "",
        x=(-4, 4, 1),
        y=(0, 0.45, 0),
    )
    plot.area(f, -3, 3, "#e3eff7")
    plot.area(f, -2, 2, "#c5dfef")
    plot.area(f, -1, 1, "#94c1de")
    plot.curve(f, -4, 4)
    for z, height, share in [
        (1, 0.12, "68.3%"),
        (2, 0.055, "95.4%"),
        (3, 0.014, "99.7%"),
    ]:
        plot.segment(-z, height, z, height, INK, 1)
        plot.text(0, height + 0.008, share)
    save("normal-curve.svg", plot)


def draw_sampling_distribution():
    panels = []
    for n in (1, 4, 25):
        values = reaction_times(2000 * n, seed=n)
        means = [mean(values[i : i + n]) for i in range(0, len(values), n)]
        title = "single trials" if n == 1 else f"means of {n} trials"
        plot = Plot(
            "milliseconds",
            "per cent",
            x=(200, 700, 100),
            y=(0, 45, 15),
            title=title,
            height=220,
        )
        plot.histogram(means, start=200, width=20, share=True)
        plot.vline(368)
        panels.append(plot)
    save("sampling-distribution.svg", *panels)


def draw_confidence_intervals():
    random = Random(11)
    plot = Plot("hours of sleep", "sample", x=(5, 9, 1), y=(0, 51, 0), height=480)
    for row in range(1, 51):
        sample = nights(12, random)
        margin = 2.201 * stdev(sample) / sqrt(12)
        low, high = mean(sample) - margin, mean(sample) + margin
        colour = BLUE if low <= 7.0 <= high else ORANGE
        plot.segment(low, row, high, row, colour)
        plot.points([mean(sample)], [row], colour, radius=3)
    plot.vline(7.0, colour=GREY)
    save("confidence-intervals.svg", plot)


def draw_residuals():
    line = linear_regression(SLEEP, RECALL)
    plot = Plot("hours of sleep", "words recalled", x=(4, 10, 1), y=(6, 18, 2))
    for hours, words in zip(SLEEP, RECALL):
        plot.segment(hours, words, hours, line.intercept + line.slope * hours, ORANGE)
    plot.segment(
        4.5, line.intercept + line.slope * 4.5, 9.5, line.intercept + line.slope * 9.5
    )
    plot.points(SLEEP, RECALL)
    save("residuals.svg", plot)


def draw_anscombe():
    panels = []
    for name, (x, y) in zip(("I", "II", "III", "IV"), ANSCOMBE):
        line = linear_regression(x, y)
        plot = Plot(
            "x", "y", x=(2, 20, 3), y=(2, 14, 4), title=name, width=340, height=250
        )
        plot.segment(
            3, line.intercept + line.slope * 3, 20, line.intercept + line.slope * 20
        )
        plot.points(x, y)
        panels.append(plot)
    save("anscombe.svg", *panels, columns=2)


def draw_permutations():
    plot = Plot(
        "difference between the group means (words)",
        "number of allocations",
        x=(-4, 4, 1),
        y=(0, 120, 20),
    )
    differences = permutation_differences()
    for value in sorted(set(differences)):
        extreme = abs(value) > 2.3
        plot.bar(
            value - 1 / 6,
            value + 1 / 6,
            differences.count(value),
            ORANGE if extreme else LIGHT,
        )
    plot.vline(7 / 3, "observed", top=100)
    save("permutations.svg", plot)


def draw_power():
    limit = NormalDist().inv_cdf(0.975)
    panels = []
    for n in (6, 25):
        shift = 0.8 / sqrt(2 / n)
        null, true = NormalDist(0, 1), NormalDist(shift, 1)
        plot = Plot(
            "observed difference in standard errors",
            "",
            x=(-4, 6, 1),
            y=(0, 0.5, 0),
            title=f"{n} students in each group",
            height=250,
        )
        plot.area(true.pdf, limit, 6, LIGHT)
        plot.area(null.pdf, limit, 4, ORANGE)
        plot.area(null.pdf, -4, -limit, ORANGE)
        plot.curve(null.pdf, -4, 4.5, GREY)
        plot.curve(true.pdf, -3, 6, BLUE)
        plot.vline(limit, colour=INK, top=0.44)
        plot.text(-0.5, 0.42, "no effect", "end", GREY)
        plot.text(shift + 0.6, 0.42, "effect of 0.8 SD", "start", BLUE)
        panels.append(plot)
    save("power.svg", *panels)


def main() -> None:
    draw_reaction_times()
    draw_normal_curve()
    draw_sampling_distribution()
    draw_confidence_intervals()
    draw_residuals()
    draw_anscombe()
    draw_permutations()
    draw_power()


if __name__ == "__main__":
    main()
