// A relay of TCP between an agent and its server, as bad networks are: late bytes, connections that break, stop for a while, or die without a word.

import { connect, createServer, type Socket } from "node:net";

export type NoisyRelay = {
  readonly url: string;
  /** Harms one of the connections that are open, where there is one. */
  harm(kind: Harm, pick: () => number): void;
  close(): void;
};

/** `cut`: both ends see a reset. `stall`: no byte passes for some seconds. `vanish`: none passes ever again, and neither end hears of it. */
export type Harm = "cut" | "stall" | "vanish";

type Pair = { readonly ends: readonly [Socket, Socket]; heldUntil: number; isGone: boolean };

const STALL_MS = 4_000;
/** Of one direction, on the way. */
const MAX_IN_FLIGHT = 4 << 20;

/** `delayMs`: of each byte, in each direction. */
export async function startNoisyRelay(
  to: { readonly host: string; readonly port: number },
  delayMs: number,
): Promise<NoisyRelay> {
  const pairs = new Set<Pair>();
  const server = createServer((client) => {
    const target = connect(to);
    const pair: Pair = { ends: [client, target], heldUntil: 0, isGone: false };
    pairs.add(pair);
    forward(client, target, pair, delayMs);
    forward(target, client, pair, delayMs);
    for (const [one, other] of [[client, target] as const, [target, client] as const]) {
      one.on("error", () => undefined);
      one.once("close", () => {
        pairs.delete(pair);
        if (!pair.isGone) setTimeout(() => other.destroy(), delayMs);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const own = typeof address === "object" && address !== null ? address.port : 0;
  const gone: Pair[] = [];
  return {
    url: `https://127.0.0.1:${own}`,
    harm(kind, pick) {
      const open = [...pairs].filter(({ isGone }) => !isGone);
      const pair = open[Math.floor(pick() * open.length)];
      if (pair === undefined) return;
      if (kind === "stall") pair.heldUntil = performance.now() + STALL_MS;
      else if (kind === "vanish") {
        pair.isGone = true;
        gone.push(pair);
      } else for (const end of pair.ends) end.resetAndDestroy();
    },
    close() {
      for (const { ends } of [...pairs, ...gone]) for (const end of ends) end.destroy();
      server.close();
    },
  };
}

/** Timers of one length fire in the order in which they were set, and the time of a chunk is never before that of the one in front of it. */
function forward(from: Socket, to: Socket, pair: Pair, delayMs: number): void {
  let inFlight = 0;
  const queue: (Buffer | undefined)[] = [];
  const pass = (): void => {
    const left = pair.heldUntil - performance.now();
    if (left > 0) return void setTimeout(pass, left);
    const chunk = queue.shift();
    if (pair.isGone || to.destroyed) return;
    if (chunk === undefined) return void to.end();
    inFlight -= chunk.length;
    if (inFlight < MAX_IN_FLIGHT) from.resume();
    to.write(chunk);
  };
  const take = (chunk: Buffer | undefined): void => {
    queue.push(chunk);
    setTimeout(pass, delayMs);
  };
  from.on("data", (chunk: Buffer) => {
    inFlight += chunk.length;
    if (inFlight >= MAX_IN_FLIGHT) from.pause();
    take(chunk);
  });
  from.once("end", () => take(undefined));
}
