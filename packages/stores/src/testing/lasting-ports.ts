// Ports of this machine for servers that are started on a port that has to be known before, or started again on the one they had.

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ephemeral ports, which systems give to every connection: one of those is soon taken by another process. */
const FIRST_PORT = 10_000;
/** Each test worker has a range of its own: a port is free until its server has started. */
const RANGE = 4_000;
const RANGES = 5;

/** Where to look next: what was given out a moment ago may not be in use yet. */
let next = randomInt(RANGE);

/** Free at the moment, and not given out again by the system while its server is gone. */
export async function lastingPorts(count: number): Promise<number[]> {
  const first = FIRST_PORT + RANGE * (Number(process.env["VITEST_POOL_ID"] ?? 0) % RANGES);
  const ports: number[] = [];
  while (ports.length < count) {
    const port = first + (next++ % RANGE);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/** Flags of `postern serve` with which a restarted server has the same address. */
export async function lastingPortFlags(): Promise<readonly string[]> {
  const [port] = await lastingPorts(1);
  return ["--secure-port", String(port)];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
