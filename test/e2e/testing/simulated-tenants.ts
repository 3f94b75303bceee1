// Fifty tenants with their people, keys and requests, the same each time: pages of the console with data such as a company has.

import type { RunningPlatform } from "@postern/platform/testing/running-platform";
import { inBatches } from "./batches.ts";

const WORDS = ["shop", "billing", "search", "ledger", "media", "login", "maps", "mail", "stock", "fraud"] as const;
const PEOPLE = ["Ann", "Ben", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jane"] as const;
const DAY = 86_400;

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
export function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export type SimulatedTenants = {
  /** The values of keys that programs use, by name. */
  readonly keys: ReadonlyMap<string, string>;
};

/** Creates `tenants` projects, each with a team, two people, one or two virtual clusters and several keys. */
export async function simulateTenants(
  platform: RunningPlatform,
  { tenants = 50, seed = 36 }: { readonly tenants?: number; readonly seed?: number } = {},
): Promise<SimulatedTenants> {
  const next = numbersOf(seed);
  const keys = new Map<string, string>();
  for (let index = 0; index < tenants; index++) await simulateTenant(platform, { index, next, keys });
  return { keys };
}

/** One of them; its keys go to `keys`. `next`: numbers from 0 to 1. */
export async function simulateTenant(
  platform: RunningPlatform,
  of: { readonly index: number; readonly next: () => number; readonly keys: Map<string, string> },
): Promise<void> {
  const { index, next, keys } = of;
  const key = async (name: string, spec: object): Promise<void> => {
    const made = await platform.create("ownedaccesskeys", { metadata: { name }, spec });
    keys.set(name, made.spec.key);
  };
  const word = WORDS[index % WORDS.length] ?? "";
  const name = `${word}-${String(index).padStart(2, "0")}`;
  const people = [
    `${PEOPLE[index % 10]?.toLowerCase()}-${index}`,
    `${PEOPLE[(index + 3) % 10]?.toLowerCase()}-${index}`,
  ];
  for (const [at, person] of people.entries())
    await platform.create("users", {
      metadata: { name: person },
      spec: {
        displayName: `${PEOPLE[(index + at * 3) % 10]} ${word[0]?.toUpperCase()}${word.slice(1)}`,
        email: `${person}@example.com`,
      },
    });
  await platform.create("teams", { metadata: { name }, spec: { displayName: `Team ${name}`, users: people } });
  await platform.create("projects", {
    metadata: { name },
    spec: {
      displayName: `${word[0]?.toUpperCase()}${word.slice(1)} ${index}`,
      members: [{ kind: "Team", name, clusterRole: "postern:project-user" }],
    },
  });
  const clusters = next() < 0.4 ? ["dev", "production"] : ["dev"];
  for (const cluster of clusters)
    await platform.create(`namespaces/p-${name}/virtualclusterinstances`, {
      metadata: { name: cluster },
      spec: { owner: { team: name } },
    });
  await key(`${name}-ci`, {
    displayName: `Pipeline of ${name}`,
    team: name,
    ttl: next() < 0.1 ? 0 : Math.ceil(next() * 120) * DAY,
    scope: { virtualClusters: [{ project: name, virtualCluster: "dev" }] },
  });
  if (next() < 0.7)
    await key(`${name}-gitops`, {
      displayName: `Argo CD ${name}`,
      team: name,
      ttl: Math.ceil(next() * 365) * DAY,
      scope: { projects: [{ project: name }] },
    });
  if (next() < 0.6) await key(`${people[0]}-laptop`, { user: people[0], ttl: next() < 0.3 ? 4 * DAY : 90 * DAY });
}

/** Requests of programs with their keys: a few keys send most of them, and some of what they ask for is refused. */
export async function simulateRequests(
  platform: RunningPlatform,
  { keys }: SimulatedTenants,
  { requests = 1_000, seed = 1 }: { readonly requests?: number; readonly seed?: number } = {},
): Promise<void> {
  const next = numbersOf(seed);
  const values = [...keys.values()];
  await inBatches(requests, async () => {
    const value = values[Math.floor(next() ** 3 * values.length)];
    await platform.send({ path: next() < 0.05 ? "clustertrustrules" : "virtualclusterinstances?limit=1", key: value });
  });
}
