// Draws the text of a terminal as SVG.

const FONT_SIZE = 13;
const LINE = 19;
const CHARACTER = 7.85;
const MARGIN = 18;
const COLUMNS = 108;

const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Lines that begin with `$ ` are what the person types. Long lines are wrapped as a terminal does. */
export function drawTerminal(text: string, title: string): string {
  const lines = text.split("\n").flatMap(wrapped);
  const width = Math.ceil(2 * MARGIN + COLUMNS * CHARACTER);
  const height = 2 * MARGIN + 22 + lines.length * LINE;
  const rows = lines.map((line, at) => {
    const isTyped = line.startsWith("$ ");
    const y = MARGIN + 30 + at * LINE;
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve"${isTyped ? ' class="typed"' : ""}>${escapeText(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">
<style>text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7dce2;white-space:pre}.typed{fill:#8fd3a6;font-weight:600}</style>
<rect width="${width}" height="${height}" rx="8" fill="#15191f"/>
<g fill="#5b6470"><circle cx="20" cy="16" r="5"/><circle cx="38" cy="16" r="5"/><circle cx="56" cy="16" r="5"/></g>
${rows.join("\n")}
</svg>
`;
}

function wrapped(line: string): readonly string[] {
  const parts: string[] = [];
  for (let rest = line; ; rest = rest.slice(COLUMNS)) {
    parts.push(rest.slice(0, COLUMNS));
    if (rest.length <= COLUMNS) return parts;
  }
}
