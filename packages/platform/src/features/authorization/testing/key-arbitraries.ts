// Random states of a key, of the keys it was made with and of their owners: mostly good ones, and each way of being refused.

import type { AccessKeyRestrictions } from "@postern/api/access-key-restrictions";
import fc from "fast-check";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import { type KeyRecord, type KeyWorld, keyRecord } from "../../access-keys/testing/key-world.ts";
import { restrictions } from "./arbitraries.ts";
import { narrowerThan } from "./narrower.ts";

const NOW = 1_000_000;
const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const time = fc.constantFrom(NOW - 50_000, NOW - 10_000, NOW - 9_999, NOW - 1, NOW);

const standing = fc.record({
  disabled: mostly(false, true),
  deletedFrom: mostly<number | undefined>(undefined, 0, NOW, NOW + 1),
  isLocked: mostly(false, true),
  ttl: mostly(0, 10, 60),
  createdAt: time,
  lastActivity: fc.option(time, { nil: undefined }),
  countsFromActivity: fc.boolean(),
  ownerUid: mostly<string | undefined>(undefined, "uid-of-alice", "uid-of-bob", "uid-of-devs"),
});

const ancestorOwner: fc.Arbitrary<AccessKeyOwner> = fc.constantFrom(
  { kind: "user", name: "alice" },
  { kind: "user", name: "bob" },
  { kind: "team", name: "devs" },
  { kind: "subject", name: "ci" },
);

/** The key that comes with the request, and the world that says whether it is good. */
export type PresentedKey = { readonly presented: KeyRecord; readonly keyWorld: KeyWorld };

/** Each key with the one it was made with behind it; a key that reaches further is narrowed by nothing, its parent by something. */
const chain = (length: number): fc.Arbitrary<readonly (AccessKeyRestrictions | undefined)[]> =>
  length === 0
    ? restrictions.map((own) => [own])
    : chain(length - 1).chain((parents) =>
        fc
          .oneof({ weight: 12, arbitrary: narrowerThan(parents[0]) }, { weight: 1, arbitrary: fc.constant(undefined) })
          .map((own) => [own, ...parents]),
      );

export const presentedKey = (owner: AccessKeyOwner): fc.Arbitrary<PresentedKey> =>
  fc.integer({ min: 0, max: 2 }).chain((ancestors) =>
    fc
      .record({
        narrowedTo: chain(ancestors),
        standings: fc.array(standing, { minLength: ancestors + 1, maxLength: ancestors + 1 }),
        owners: fc.array(ancestorOwner, { minLength: ancestors, maxLength: ancestors }),
        lastParent: mostly("", "gone", "key-0"),
        without: mostly("", "key-0", "key-1", "key-2"),
        acceptedUntil: fc.option(fc.constantFrom(NOW - 1, NOW, NOW + 1), { nil: undefined, freq: 3 }),
        isRemembered: mostly(true, false),
        users: fc.record({ alice: mostly("good", "locked", "gone"), bob: mostly("good", "locked", "gone") }),
        ci: mostly("good", "locked", "gone"),
        hasTeam: mostly(true, false),
        uses: fc.array(fc.record({ uid: fc.constantFrom("key-0", "key-1"), at: time }), { maxLength: 2 }),
        marks: fc.array(
          fc.record({
            mark: mostly<"confirm" | "lock">("confirm", "lock"),
            uid: fc.constantFrom("key-0", "key-1"),
            id: fc.constantFrom("id-0", "id-1", "before"),
          }),
          { maxLength: 1 },
        ),
        maxTTLSeconds: mostly(0, 10, 60),
      })
      .map((drawn) => {
        const all = drawn.standings.map((parts, at) =>
          keyRecord({
            ...parts,
            name: `key-${at}`,
            uid: `key-${at}`,
            id: `id-${at}`,
            owner: drawn.owners[at - 1] ?? owner,
            restrictions: drawn.narrowedTo[at],
            parentUids: at < ancestors ? [`key-${at + 1}`] : [drawn.lastParent].filter((uid) => uid !== ""),
          }),
        );
        const [own = keyRecord()] = all;
        const { acceptedUntil } = drawn;
        const before = { ...own, id: "before", acceptedUntil };
        const user = (name: string, subject: string, state: string) =>
          state === "gone" ? [] : [{ name, uid: `uid-of-${name}`, subject, locked: state === "locked" }];
        return {
          presented: acceptedUntil === undefined ? own : before,
          keyWorld: {
            now: NOW,
            maxTTLSeconds: drawn.maxTTLSeconds,
            keys: all.filter(({ uid }) => uid !== drawn.without),
            retired: acceptedUntil === undefined || !drawn.isRemembered ? [] : [before],
            users: [
              ...user("alice", "alice", drawn.users.alice),
              ...user("bob", "bob", drawn.users.bob),
              ...user("continuous-integration", "ci", drawn.ci),
            ],
            teams: drawn.hasTeam ? [{ name: "devs", uid: "uid-of-devs" }] : [],
            uses: drawn.uses,
            marks: drawn.marks,
          },
        };
      }),
  );
