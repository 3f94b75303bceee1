// Access keys, their owners and the time as plain data, and the code that says which keys are good over them.

import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { DirectoryTeam, DirectoryUser } from "../../directory/directory.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import { createLastActivity } from "../last-use/last-activity.ts";
import { createRotationMarks } from "../rotation/rotation-marks.ts";
import { createKeyExpirations, type KeyExpirations } from "../validity/key-expirations.ts";
import { createKeyRefusal, type RefusableKey } from "../validity/key-validity.ts";
import { accessKey } from "./access-key.ts";

export type KeyRecord = AccessKeyState & RefusableKey;

/** Plain data, so that an oracle can read it without any of the code under test. Times are milliseconds since the epoch. */
export type KeyWorld = {
  readonly now: number;
  /** The setting accessKeys.maxTTLSeconds. */
  readonly maxTTLSeconds: number;
  readonly keys: readonly KeyRecord[];
  /** Keys once more, as each value that a rotation replaced finds them. */
  readonly retired: readonly KeyRecord[];
  readonly users: readonly Pick<DirectoryUser, "name" | "uid" | "subject" | "locked">[];
  readonly teams: readonly Pick<DirectoryTeam, "name" | "uid">[];
  /** Uses that are not written yet. */
  readonly uses: readonly { readonly uid: string; readonly at: number }[];
  /** Facts about rotations that are known and not written yet; `id` is that of the key's value then. */
  readonly marks: readonly { readonly mark: "confirm" | "lock"; readonly uid: string; readonly id: string }[];
};

export const keyRecord = (parts: Partial<KeyRecord> = {}): KeyRecord => ({
  ...accessKey(),
  deletedFrom: undefined,
  isLocked: false,
  isLeaked: false,
  ownerUid: undefined,
  createdAt: 0,
  ttl: 0,
  countsFromActivity: false,
  lastActivity: undefined,
  acceptedUntil: undefined,
  epoch: 0,
  isMarkedExpired: false,
  ...parts,
});

export const keyWorld = (parts: Partial<KeyWorld> = {}): KeyWorld => ({
  now: 1_000_000,
  maxTTLSeconds: 0,
  keys: [keyRecord()],
  retired: [],
  users: [{ name: "alice", uid: "alice-uid", subject: "alice", locked: false }],
  teams: [],
  uses: [],
  marks: [],
  ...parts,
});

export type EvaluatedKeys = {
  byId(id: string): KeyRecord | undefined;
  refusalOf(key: Pick<AccessKeyState, "uid" | "id">): string | undefined;
  readonly ends: KeyExpirations;
};

export function evaluatedKeys(world: KeyWorld): EvaluatedKeys {
  const { now, keys, retired, users, teams, maxTTLSeconds } = world;
  const epochs = createClockEpochs({ now: () => now, elapsed: () => 0 });
  const activity = createLastActivity(epochs);
  for (const { uid, at } of world.uses) activity.record(uid, at);
  const rotationMarks = createRotationMarks();
  for (const { mark, uid, id } of world.marks) rotationMarks[mark](uid, id);
  const byUid = (uid: string): KeyRecord | undefined => keys.find((key) => key.uid === uid);
  const ends = createKeyExpirations({ byUid, activity, epochs, maxTTLSeconds });
  const unused = {
    groups: [],
    identities: [],
    displayName: "",
    username: "",
    email: "",
    isBot: false,
  };
  const found = <T extends object>(one: T | undefined) => (one === undefined ? undefined : { ...unused, ...one });
  const refusalOf = createKeyRefusal({
    table: {
      byUid,
      byName: (name) => keys.find((key) => key.name === name),
      retiredOf: (name) => retired.filter((value) => value.name === name),
    },
    ends,
    directory: {
      user: (name) => found(users.find((user) => user.name === name)),
      userBySubject: (subject) => found(users.find((user) => user.subject === subject)),
      team: (name) => found(teams.find((team) => team.name === name)),
    },
    rotationMarks,
    epochs,
  });
  const messageOf: EvaluatedKeys["refusalOf"] = (key) => refusalOf(key)?.message;
  return { byId: (id) => [...keys, ...retired].find((key) => key.id === id), refusalOf: messageOf, ends };
}
