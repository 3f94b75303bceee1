// Draws a line of values as SVG: the first and the last are written beside it.

export type PlotPoint = { readonly label: string; readonly value: number };

const WIDTH = 360;
const HEIGHT = 110;
const PLOT = { left: 14, right: 300, top: 34, bottom: 84 } as const;

const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const shown = (value: number): string => Math.round(value).toLocaleString("en-US");

/** From zero up to the largest value. */
export function drawPlot(title: string, unit: string, points: readonly PlotPoint[]): string {
  const largest = Math.max(1, ...points.map(({ value }) => value));
  const step = points.length < 2 ? 0 : (PLOT.right - PLOT.left) / (points.length - 1);
  const places = points.map(({ label, value }, at) => ({
    x: Math.round(PLOT.left + at * step),
    y: Math.round(PLOT.bottom - (value / largest) * (PLOT.bottom - PLOT.top)),
    text: `${label}: ${shown(value)}`,
  }));
  const [first, last] = [points[0], points.at(-1)];
  const end = places.at(-1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escapeText(title)}">
<style>text{font:11px system-ui,sans-serif;fill:#57606a}.title{font-weight:600;fill:#1f2328}polyline{fill:none;stroke:#2f6f4f;stroke-width:2}circle{fill:#2f6f4f}@media (prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#f0f6fc}polyline{stroke:#8fd3a6}circle{fill:#8fd3a6}}</style>
<text class="title" x="${PLOT.left}" y="14">${escapeText(title)}</text>
<text x="${PLOT.left}" y="27">${escapeText(unit)}</text>
<line x1="${PLOT.left}" y1="${PLOT.bottom}" x2="${PLOT.right}" y2="${PLOT.bottom}" stroke="#8c959f" stroke-width="0.5"/>
<polyline points="${places.map(({ x, y }) => `${x},${y}`).join(" ")}"/>
${places.map(({ x, y, text }) => `<circle cx="${x}" cy="${y}" r="3"><title>${escapeText(text)}</title></circle>`).join("\n")}
<text x="${PLOT.left}" y="100">${escapeText(first?.label ?? "")}: ${shown(first?.value ?? 0)}</text>
<text x="${(end?.x ?? 0) + 8}" y="${(end?.y ?? 0) + 4}">${shown(last?.value ?? 0)}</text>
</svg>
`;
}
