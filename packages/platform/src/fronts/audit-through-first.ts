// The audit log of a further front: the first one writes, since the lines are in one hash chain.

import { lineOf } from "@postern/apiserver/audit/audit-chain";
import type { AuditEvent } from "@postern/apiserver/audit/audit-event";
import type { AuditSink } from "@postern/apiserver/audit/audit-sink";

/** How long events that no request waits for are gathered. */
const GATHER_MS = 10;

type Soon = { readonly event: AuditEvent; readonly onError: (error: unknown) => void };

/** As JSON, which costs less to send than objects. */
const jsonOf = (event: AuditEvent): string => lineOf(event).json;

/** `send` takes the JSON of events, and resolves once they are written. */
export function createAuditThroughFirst(send: (events: readonly string[]) => Promise<void>): AuditSink {
  let waiting: Soon[] = [];
  let timer: NodeJS.Timeout | undefined;
  const sending = new Set<Promise<void>>();

  const track = (sent: Promise<void>): Promise<void> => {
    sending.add(sent);
    const done = (): void => void sending.delete(sent);
    sent.then(done, done);
    return sent;
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const events = waiting;
    waiting = [];
    if (events.length === 0) return;
    track(send(events.map(({ event }) => jsonOf(event)))).catch((error: unknown) => {
      for (const { onError } of events) onError(error);
    });
  };
  return {
    write: (event) => track(send([jsonOf(event)])),
    writeSoon(event, onError) {
      waiting.push({ event, onError });
      timer ??= setTimeout(flush, GATHER_MS);
    },
    async [Symbol.asyncDispose]() {
      flush();
      await Promise.allSettled(sending);
    },
  };
}

/** The other end, in the first front. */
export async function writeAudit(sink: AuditSink, events: readonly string[]): Promise<void> {
  const lines = events.map((json) => ({ event: JSON.parse(json) as AuditEvent, json }));
  if (sink.writeLines === undefined) await Promise.all(lines.map(({ event }) => sink.write(event)));
  else await sink.writeLines(lines);
}
