// Which keys of an agent stay beside a new one: pods that start again and again leave no more than a few.

import type { AgentKeyRecord } from "./agent-records.ts";

/** The keys of all pods of one agent, each with the key of its tunnels and the next one. */
const MAX_KEYS = 32;

/** Whether the key opens tunnels, and none after it has. */
export const isRunning = ({ until, expiresAt }: AgentKeyRecord, now: number): boolean =>
  until === undefined && (expiresAt === undefined || expiresAt > now);

/** Those that stay beside the new key of a holder, which has room for one more: the key whose tunnels are open. The newest of the others stay. */
export function keptBeside(keys: readonly AgentKeyRecord[], holder: string, now: number): readonly AgentKeyRecord[] {
  const running = keys.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  const own = running.filter((key) => key.holder === holder);
  const stay = running.filter((key) => key.holder !== holder || key === own.at(-1));
  return stay.slice(-(MAX_KEYS - 1));
}
