// The audit log of a further front: the first one writes, since the lines are in one hash chain.

import type { AuditEvent } from "@postern/apiserver/audit/audit-event";
import type { AuditSink } from "@postern/apiserver/audit/audit-sink";
import { packLines, unpackLines } from "@postern/apiserver/audit/sent-lines";

/** How long events that no request waits for are gathered. */
const GATHER_MS = 10;

type Soon = { readonly event: AuditEvent; readonly onError: (error: unknown) => void };

/** `send` takes packed lines, and resolves once they are written. */
export function createAuditThroughFirst(send: (lines: string) => Promise<void>): AuditSink {
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
    track(send(packLines(events.map(({ event }) => event)))).catch((error: unknown) => {
      for (const { onError } of events) onError(error);
    });
  };
  return {
    write: (event) => track(send(packLines([event]))),
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
export async function writeAudit(sink: AuditSink, packed: string): Promise<void> {
  const lines = unpackLines(packed);
  if (sink.writeLines === undefined) await Promise.all(lines.map(({ event }) => sink.write(event)));
  else await sink.writeLines(lines);
}
