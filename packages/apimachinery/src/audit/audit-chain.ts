// The hash chain of an audit log: each line carries the hash of the line before it.

/** The annotation that carries it. */
export const PREVIOUS_LINE_ANNOTATION = "audit-chain/previous-line-sha256";

/**
 * The annotation that seals a line where the log has a key: an HMAC-SHA-256 of the line as it is without this annotation, which is the
 * last thing in it.
 */
export const SEAL_ANNOTATION = "audit-chain/hmac-sha256";

const SEAL = new RegExp(`,"${SEAL_ANNOTATION}":"([0-9a-f]{64})"}}$`);

/** The line with its seal; `text` ends with the annotations of the event. */
export const sealedLine = (text: string, hmac: (text: string) => string): string =>
  `${text.slice(0, -2)},"${SEAL_ANNOTATION}":"${hmac(text)}"}}`;

/** Whether a line is sealed with the key of `hmac`. */
export function isSealed(line: string, hmac: (text: string) => string): boolean {
  // The seal of a line of any length stands at its end.
  const [tail, seal] = SEAL.exec(line.slice(-SEAL_ANNOTATION.length - 80)) ?? [];
  return tail !== undefined && hmac(`${line.slice(0, -tail.length)}}}`) === seal;
}

/** What the first line of all carries. */
export const CHAIN_START = "0".repeat(64);

export type ChainError = {
  /** Counted from 1. */
  readonly line: number;
  readonly fault: "not-json" | "not-chained" | "broken" | "not-sealed";
};

export type ChainReport = {
  readonly lines: number;
  readonly faults: readonly ChainError[];
  /** The hash that the first line must have for the line before it. */
  readonly startsAfter: string;
  /** The hash of the last line: what the next one must carry. */
  readonly endsWith: string;
  /** Whether the line of the wanted hash was among them. */
  readonly holdsWanted: boolean;
};

/**
 * Reads lines one at a time. `sha256` gives lower-case hexadecimal of the UTF-8 of a text. `wanted` is the hash of a line that was
 * there before: a chain alone does not tell that its end was cut off. With `hmac` every line has to be sealed by its key: anybody can
 * write a chain anew, and nobody without the key its seals.
 */
export function createChainReader(
  sha256: (text: string) => string,
  startsAfter?: string,
  wanted?: string,
  hmac?: (text: string) => string,
) {
  const faults: ChainError[] = [];
  let lines = 0;
  let first: string | undefined = startsAfter;
  let expected: string | undefined = startsAfter;
  let holdsWanted = false;
  return {
    /** Without the line break. */
    read(text: string): void {
      lines++;
      const carried = previousLineOf(text);
      if (carried.fault !== undefined) faults.push({ line: lines, fault: carried.fault });
      else {
        first ??= carried.hash;
        if (hmac !== undefined && !isSealed(text, hmac)) faults.push({ line: lines, fault: "not-sealed" });
        else if (expected !== undefined && carried.hash !== expected) faults.push({ line: lines, fault: "broken" });
      }
      expected = sha256(text);
      holdsWanted ||= expected === wanted;
    },
    report: (): ChainReport => ({
      lines,
      faults,
      startsAfter: first ?? CHAIN_START,
      endsWith: expected ?? CHAIN_START,
      holdsWanted,
    }),
  };
}

type Carried = { readonly hash: string; readonly fault?: undefined } | { readonly fault: "not-json" | "not-chained" };

function previousLineOf(text: string): Carried {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // A server that was killed leaves half a line; the next one follows it all the same.
    return { fault: "not-json" };
  }
  const annotations = memberOf(event, "annotations");
  const hash = memberOf(annotations, PREVIOUS_LINE_ANNOTATION);
  return typeof hash === "string" ? { hash } : { fault: "not-chained" };
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [member: string]: unknown })[name]
    : undefined;
