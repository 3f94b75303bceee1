// Lines of an audit log on their way to the thread that writes it: as one text, which costs less to send than objects, and is not parsed there.

import { type AuditLine, annotationsPlaceOf, type LineFacts, lineOf } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import { shareFactsOf } from "./file-shares.ts";

/** Two lines for each event: facts, and the event itself. JSON has no line breaks. */
export const packLines = (events: readonly AuditEvent[]): string =>
  events
    .map((event) => {
      const facts: LineFacts = { ...shareFactsOf(event), annotations: annotationsPlaceOf(event) };
      return `${JSON.stringify(facts)}\n${lineOf(event).json}`;
    })
    .join("\n");

export function unpackLines(text: string): readonly AuditLine[] {
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
