// Lines of an audit log on their way to the thread that writes it: as one text, which costs less to send than objects, and is not parsed there.

import { type AuditLine, annotationsPlaceOf, type LineFacts, lineOf } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import { shareFactsOf } from "./file-shares.ts";

/** Two lines for each event: facts, and the event itself. JSON has no line breaks. `facts`: of the events. */
export const packLines = (
  events: readonly AuditEvent[],
  facts: readonly LineFacts[] = events.map(lineFactsOf),
): string => events.map((event, at) => `${JSON.stringify(facts[at])}\n${lineOf(event).json}`).join("\n");

export function lineFactsOf(event: AuditEvent): LineFacts {
  return { ...shareFactsOf(event), annotations: annotationsPlaceOf(event) };
}

export function unpackLines(text: string): readonly SentLine[] {
  if (text === "") return [];
  const parts = text.split("\n");
  return Array.from(
    { length: parts.length / 2 },
    (_, at) => new SentLine(parts[2 * at] ?? "", parts[2 * at + 1] ?? ""),
  );
}

class SentLine implements AuditLine {
  readonly json: string;
  readonly facts: LineFacts;
  #event: AuditEvent | undefined;

  constructor(facts: string, json: string) {
    this.json = json;
    this.facts = JSON.parse(facts);
  }

  get event(): AuditEvent {
    this.#event ??= JSON.parse(this.json) as AuditEvent;
    return this.#event;
  }
}
