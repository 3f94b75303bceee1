// Says which keys are good by walking over plain data, sharing no code with what it judges.

import type { KeyRecord, KeyWorld } from "../../access-keys/testing/key-world.ts";

/** `good(k)`: whether a key that is presented by its handle is accepted. */
export function isGoodKey(world: KeyWorld, id: string): boolean {
  const key = [...world.keys, ...world.retired].find((each) => each.id === id);
  return key !== undefined && isGood(world, key, []);
}

/** `from` are the uids that led here: nothing in a circle is good. */
function isGood(world: KeyWorld, key: KeyRecord, from: readonly string[]): boolean {
  const current = world.keys.find(({ uid }) => uid === key.uid);
  if (current === undefined || from.includes(key.uid)) return false;
  const isMarked = (as: string): boolean =>
    world.marks.some(({ mark, uid, id }) => mark === as && uid === key.uid && id === current.id);
  if (key.deletedFrom !== undefined && key.deletedFrom <= world.now) return false;
  if (key.disabled || key.isLocked || isMarked("lock")) return false;
  if (hasEnded(world, key) || !hasGoodOwner(world, key)) return false;
  if (key.acceptedUntil !== undefined && (key.acceptedUntil <= world.now || isMarked("confirm"))) return false;
  return key.parentUids.every((parentUid) => {
    const parent = world.keys.find(({ uid }) => uid === parentUid);
    if (parent === undefined || !isGood(world, parent, [...from, key.uid])) return false;
    // Keys are drawn within their parent, or narrowed by nothing at all.
    if (parent.restrictions === undefined) return true;
    const isAlike = key.owner.kind === parent.owner.kind && key.owner.name === parent.owner.name;
    return key.restrictions !== undefined && isAlike && key.groups.every((group) => parent.groups.includes(group));
  });
}

function hasEnded({ now, maxTTLSeconds, uses }: KeyWorld, key: KeyRecord): boolean {
  const lives = [key.ttl, maxTTLSeconds].filter((seconds) => seconds > 0);
  if (lives.length === 0) return false;
  const ofUse = [key.lastActivity ?? 0, ...uses.filter(({ uid }) => uid === key.uid).map(({ at }) => at)];
  const from = Math.max(key.createdAt, ...(key.countsFromActivity ? ofUse : []));
  return from + Math.min(...lives) * 1000 <= now;
}

function hasGoodOwner({ users, teams }: KeyWorld, { owner: { kind, name }, ownerUid }: KeyRecord): boolean {
  if (kind === "subject") return !users.some((user) => user.subject === name && user.locked);
  const isTheOne = (it: { readonly name: string; readonly uid: string }): boolean =>
    it.name === name && (ownerUid === undefined || ownerUid === it.uid);
  return kind === "team" ? teams.some(isTheOne) : users.some((user) => isTheOne(user) && !user.locked);
}
