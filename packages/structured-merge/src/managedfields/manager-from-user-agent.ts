// The name of a manager that did not give one.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/create.go (managerOrUserAgent), rest.go (prefixFromUserAgent)

const MAX_BYTES = 128;

const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

export const UNKNOWN_MANAGER = "unknown";

/** The printable start of a User-Agent: `kubectl/v1.32.0 (linux/amd64)` → `kubectl`; `unknown` without one. */
export function managerFromUserAgent(userAgent = ""): string {
  const [program = ""] = userAgent.split("/", 1);
  let name = "";
  let bytes = 0;
  for (const char of program) {
    if (!PRINTABLE.test(char)) continue;
    bytes += utf8Length(char);
    if (bytes > MAX_BYTES) break;
    name += char;
  }
  return name === "" ? UNKNOWN_MANAGER : name;
}

function utf8Length(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
