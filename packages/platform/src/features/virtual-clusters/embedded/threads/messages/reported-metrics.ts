// Metrics of a cluster thread on their way to the front, which shows them: queues once a second, webhooks with each call.

import type { WebhookMetrics } from "@postern/apiserver/metrics/webhook-metrics";
import type { QueueMetrics, WorkQueueMetrics, WorkQueueState } from "@postern/apiserver/metrics/work-queue-metrics";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { FrontCalls, FrontNotes, QueueMessage } from "./cluster-methods.ts";
import type { Link } from "./link.ts";

const PERIOD_MS = 1_000;

type Totals = {
  readonly states: Set<() => WorkQueueState>;
  added: number;
  retried: number;
  waits: number[];
  works: number[];
};

/** In a thread: collects what all queues of a name report. */
export function createQueueCollector(
  { scheduler }: { readonly scheduler: Scheduler },
  send: (queues: readonly QueueMessage[]) => void,
): WorkQueueMetrics & Disposable {
  const totals = new Map<string, Totals>();
  let timer: Disposable;
  const isQuiet = ({ added, retried, waits, works, depth, running }: QueueMessage): boolean =>
    added + retried + waits.length + works.length + depth + running.length === 0;
  const quiet = new Set<string>();

  function flush(): void {
    const queues: QueueMessage[] = [];
    for (const [name, queue] of totals) {
      const states = [...queue.states].map((state) => state());
      const depth = states.reduce((sum, state) => sum + state.depth, 0);
      const running = states.flatMap((state) => state.running);
      const { added, retried, waits, works } = queue;
      Object.assign(queue, { added: 0, retried: 0, waits: [], works: [] });
      const message = { name, depth, running, added, retried, waits, works };
      // Once more after the last work: nothing waits any more.
      if (isQuiet(message) && quiet.has(name)) continue;
      if (isQuiet(message)) quiet.add(name);
      else quiet.delete(name);
      queues.push(message);
    }
    if (queues.length > 0) send(queues);
    timer = scheduler.schedule(PERIOD_MS, flush);
  }

  timer = scheduler.schedule(PERIOD_MS, flush);
  return {
    follow(name, state) {
      const queue = totals.get(name) ?? { states: new Set(), added: 0, retried: 0, waits: [], works: [] };
      totals.set(name, queue);
      queue.states.add(state);
      return {
        added: () => void queue.added++,
        retried: () => void queue.retried++,
        waited: (seconds) => void queue.waits.push(seconds),
        worked: (seconds) => void queue.works.push(seconds),
        [Symbol.dispose]: () => void queue.states.delete(state),
      };
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}

export const webhookNotes = (front: () => Pick<Link<FrontCalls, FrontNotes>, "note">): WebhookMetrics => ({
  asked: (call) => front().note("webhookAsked", call),
  failedOpen: (type) => front().note("webhookFailedOpen", { type }),
});

/** In the front: shows the queues of one thread, until it is disposed. */
export function showQueues(metrics: WorkQueueMetrics): Disposable & { show(queues: readonly QueueMessage[]): void } {
  const shown = new Map<string, { state: WorkQueueState; readonly queue: QueueMetrics }>();
  return {
    show(queues) {
      for (const { name, depth, running, added, retried, waits, works } of queues) {
        const known = shown.get(name) ?? follow(name);
        known.state = { depth, running };
        for (let count = 0; count < added; count++) known.queue.added();
        for (let count = 0; count < retried; count++) known.queue.retried();
        for (const seconds of waits) known.queue.waited(seconds);
        for (const seconds of works) known.queue.worked(seconds);
      }
    },
    [Symbol.dispose]() {
      for (const { queue } of shown.values()) queue[Symbol.dispose]();
      shown.clear();
    },
  };

  function follow(name: string) {
    const entry: { state: WorkQueueState; queue: QueueMetrics } = {
      state: { depth: 0, running: [] },
      queue: metrics.follow(name, () => entry.state),
    };
    shown.set(name, entry);
    return entry;
  }
}
