// The audit log of a further front: the first one writes, since the lines are in one hash chain.

import type { AuditEvent } from "@postern/apiserver/audit/audit-event";
import type { AuditSink } from "@postern/apiserver/audit/audit-sink";
import { countElsewhere } from "@postern/apiserver/audit/counted-elsewhere";
import type { CountedEvents } from "@postern/apiserver/audit/file-shares";
import { lineFactsOf, packLines, unpackLines } from "@postern/apiserver/audit/sent-lines";
import type { Clock } from "@postern/apiserver/runtime/clock";

/** How long events that no request waits for are gathered. */
const GATHER_MS = 10;

type Soon = { readonly event: AuditEvent; readonly onError: (error: unknown) => void };

export type SentAudit = {
  /** Packed. */
  readonly lines: string;
  /** Events without a line, which the log leaves out. */
  readonly counted: readonly CountedEvents[];
};

/** Indices of lines whose like the log leaves out for as long as its shares have this version. */
export type LeftOut = { readonly version: number; readonly lines: readonly number[] };

/** `send` resolves once the lines are written. */
export function createAuditThroughFirst(
  clock: Pick<Clock, "elapsed">,
  send: (sent: SentAudit) => Promise<LeftOut>,
): AuditSink {
  let waiting: Soon[] = [];
  let timer: NodeJS.Timeout | undefined;
  const sending = new Set<Promise<void>>();

  const track = (sent: Promise<void>): Promise<void> => {
    sending.add(sent);
    const done = (): void => void sending.delete(sent);
    sent.then(done, done);
    return sent;
  };
  const sendEvents = async (events: readonly AuditEvent[]): Promise<void> => {
    const facts = events.map(lineFactsOf);
    const leftOut = await send({ lines: packLines(events, facts), counted: elsewhere.take() });
    elsewhere.learn(
      leftOut.version,
      leftOut.lines.flatMap((at) => facts[at] ?? []),
    );
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const events = waiting;
    waiting = [];
    track(sendEvents(events.map(({ event }) => event))).catch((error: unknown) => {
      for (const { onError } of events) onError(error);
    });
  };
  const flushSoon = (): void => {
    timer ??= setTimeout(flush, GATHER_MS);
  };
  const elsewhere = countElsewhere(clock, flushSoon);
  return {
    write: (event) => track(sendEvents([event])),
    writeSoon(event, onError) {
      waiting.push({ event, onError });
      flushSoon();
    },
    countOnly: elsewhere.countOnly,
    async [Symbol.asyncDispose]() {
      if (timer !== undefined) flush();
      await Promise.allSettled(sending);
    },
  };
}

/** The other end, in the first front. */
export async function writeAudit(sink: AuditSink, sent: SentAudit): Promise<LeftOut> {
  const { shares } = sink;
  for (const counted of sent.counted) shares?.addCounted(counted);
  const lines = unpackLines(sent.lines);
  if (sink.writeLines === undefined) await Promise.all(lines.map(({ event }) => sink.write(event)));
  else await sink.writeLines(lines);
  return {
    version: shares?.version ?? 0,
    lines: lines.flatMap(({ facts }, at) => (shares?.isLeftOut(facts) === true ? [at] : [])),
  };
}
