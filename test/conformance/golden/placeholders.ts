// The values that a server chooses: bound where a recording first shows their placeholder, and put into later requests.

const PLACEHOLDER = /<(?:uid|rv|lrv|continue):\d+>|<genname:[^>]*>|<(?:time|age|anytext|any|ptr|etag)>/;
const BOUND = /^<(uid|rv|lrv|continue):\d+>$/;

/** Values that a server may put in the place of each placeholder. */
const FORMS: { readonly [kind: string]: string } = {
  uid: "[0-9a-zA-Z-]{8,}",
  rv: '[^"\\s,()]+',
  lrv: '[^"\\s,()]+',
  continue: "\\S+",
  "<time>": "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z",
  "<age>": "(?:\\d+[smhdy]){1,2}",
  "<anytext>": "[\\s\\S]*",
};

const GENERATED_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}";

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export class Placeholders {
  readonly #values = new Map<string, string>();
  /** The newest creationTimestamp and ETag seen, which requests repeat. */
  time = "2026-01-01T00:00:00Z";
  etag = '"none"';

  /** The text of a request with everything known filled in. */
  substitute(text: string): string {
    return text
      .replaceAll("<time>", this.time)
      .replaceAll("<etag>", this.etag)
      .replace(/<(?:uid|rv|lrv|continue):\d+>/g, (name) => this.#values.get(name) ?? name);
  }

  /** Whether `actual` is what was recorded; binds what is new. Two different placeholders of a kind are two different values. */
  matches(recorded: string, actual: string): boolean {
    if (!recorded.includes("<")) return recorded === actual;
    const names: string[] = [];
    const pattern = recorded
      .split(new RegExp(`(${PLACEHOLDER.source})`))
      .map((part) => this.#patternOf(part, names))
      .join("");
    const found = new RegExp(`^${pattern}$`).exec(actual);
    if (found === null) return false;
    return names.every((name, index) => this.#bind(name, found[index + 1] ?? ""));
  }

  #patternOf(part: string, names: string[]): string {
    const kind = BOUND.exec(part)?.[1];
    if (kind !== undefined) {
      const known = this.#values.get(part);
      // The version of a list may be newer than the one it was bound to, and a token to continue it holds that version.
      if (known !== undefined && kind !== "lrv" && kind !== "continue") return escapePattern(known);
      const repeated = names.indexOf(part);
      if (repeated >= 0) return `\\${repeated + 1}`;
      names.push(part);
      return `(${FORMS[kind]})`;
    }
    if (part.startsWith("<genname:")) return escapePattern(part.slice("<genname:".length, -1)) + GENERATED_SUFFIX;
    if (!PLACEHOLDER.test(part)) return escapePattern(part);
    return FORMS[part] ?? "\\S+";
  }

  #bind(name: string, value: string): boolean {
    const kind = BOUND.exec(name)?.[1] ?? "";
    const isTaken = [...this.#values].some(
      ([other, known]) => other !== name && other.startsWith(`<${kind}:`) && known === value,
    );
    if (isTaken && (kind === "uid" || kind === "rv")) return false;
    this.#values.set(name, value);
    return true;
  }
}
