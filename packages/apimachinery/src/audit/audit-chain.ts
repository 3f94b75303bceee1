// How the lines of an audit log hang together: each carries the hash of the line before it.

/** The annotation that carries it. */
export const PREVIOUS_LINE_ANNOTATION = "audit-chain/previous-line-sha256";

/** What the first line of all carries. */
export const CHAIN_START = "0".repeat(64);

export type ChainFault = {
  /** Counted from 1. */
  readonly line: number;
  readonly fault: "not-json" | "not-chained" | "broken";
};

export type ChainReport = {
  readonly lines: number;
  readonly faults: readonly ChainFault[];
  /** What the first line says of the one before it. */
  readonly startsAfter: string;
  /** The hash of the last line: what the next one must carry. */
  readonly endsWith: string;
  /** Whether the line of the wanted hash was among them. */
  readonly holdsWanted: boolean;
};

/**
 * Reads lines one at a time. `sha256` gives lower-case hexadecimal of the UTF-8 of a text. `wanted` is the hash of a line that was
 * there before: a chain alone does not tell that its end was cut off.
 */
export function createChainReader(sha256: (text: string) => string, startsAfter?: string, wanted?: string) {
  const faults: ChainFault[] = [];
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
        if (expected !== undefined && carried.hash !== expected) faults.push({ line: lines, fault: "broken" });
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
