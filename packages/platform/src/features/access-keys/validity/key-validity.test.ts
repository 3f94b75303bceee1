import { describe, expect, it, test } from "vitest";
import { emptyScope } from "../../authorization/testing/memory-world.ts";
import { evaluatedKeys, type KeyRecord, type KeyWorld, keyRecord, keyWorld } from "../testing/key-world.ts";

const NOW = 1_000_000;
const key = keyRecord();
const refusal = (parts: Partial<KeyRecord>, world: Partial<KeyWorld> = {}): string | undefined => {
  const record = keyRecord(parts);
  return evaluatedKeys(keyWorld({ ...world, keys: [record, ...(world.keys ?? [])] })).refusalOf(record);
};
const user = (parts: object = {}) => ({ name: "alice", uid: "alice-uid", subject: "alice", locked: false, ...parts });

describe("a key by itself", () => {
  test.each<readonly [what: string, parts: Partial<KeyRecord>, cause: string | undefined]>([
    ["as it was made", {}, undefined],
    ["that ends later", { ttl: 1_001 }, undefined],
    ["that is deleted, and held by a finalizer", { deletedFrom: 0 }, "being deleted"],
    ["that is disabled", { disabled: true }, "disabled"],
    ["that has ended this moment", { ttl: 1_000 }, "expired"],
    ["that is locked", { isLocked: true }, "locked: an old value was used after its rotation"],
    ["of nobody", { owner: { kind: "user", name: "" } }, "has no owner"],
    ["of nobody, as a subject", { owner: { kind: "subject", name: "" } }, "has no owner"],
  ])("%s", (_what, parts, cause) => expect(refusal(parts)).toBe(cause));

  it("is refused when it is not there", () => {
    expect(evaluatedKeys(keyWorld({ keys: [] })).refusalOf(key)).toBe("deleted");
    expect(evaluatedKeys(keyWorld()).refusalOf({ ...key, uid: "another" })).toBe("deleted");
  });

  it("is locked by what is known of its present value, before that is written", () => {
    const marked = (uid: string, id: string) => refusal({}, { marks: [{ mark: "lock", uid, id }] });
    expect(marked(key.uid, key.id)).toBe("locked: an old value was used after its rotation");
    expect(marked(key.uid, "before")).toBeUndefined();
    expect(marked("another", key.id)).toBeUndefined();
  });
});

describe("a value that a rotation replaced", () => {
  const retired = (parts: Partial<KeyRecord>, world: Partial<KeyWorld> = {}): string | undefined => {
    const value = keyRecord({ id: "before", acceptedUntil: NOW + 1, ...parts });
    return evaluatedKeys(keyWorld({ retired: [value], ...world })).refusalOf(value);
  };

  it("is valid until its grace period ends", () => {
    expect(retired({})).toBeUndefined();
    expect(retired({ acceptedUntil: NOW })).toBe("replaced by a rotation");
    expect(retired({ acceptedUntil: NOW - 1 })).toBe("replaced by a rotation");
  });

  it("ends with the first use of the next value", () => {
    const confirmed = (id: string): string | undefined =>
      retired({}, { marks: [{ mark: "confirm", uid: key.uid, id }] });
    expect(confirmed(key.id)).toBe("replaced by a rotation");
    expect(confirmed("before")).toBeUndefined();
    // The value in force does not end by that.
    expect(refusal({}, { marks: [{ mark: "confirm", uid: key.uid, id: key.id }] })).toBeUndefined();
  });

  it("is locked with its key", () => {
    const lock = { mark: "lock", uid: key.uid, id: key.id } as const;
    expect(retired({}, { marks: [lock] })).toBe("locked: an old value was used after its rotation");
  });

  it("is refused when nothing remembers it, or only a key of another name", () => {
    expect(retired({}, { retired: [] })).toBe("replaced by a new value");
    expect(retired({}, { retired: [keyRecord({ id: "older", acceptedUntil: NOW + 1 })] })).toBe(
      "replaced by a new value",
    );
    expect(retired({}, { retired: [keyRecord({ id: "before", name: "another", acceptedUntil: NOW + 1 })] })).toBe(
      "replaced by a new value",
    );
  });
});

describe("the owner of a key (security book 13)", () => {
  const teams = [{ name: "devs", uid: "devs-uid" }];
  test.each<readonly [what: string, parts: Partial<KeyRecord>, world: Partial<KeyWorld>, cause: string | undefined]>([
    ["a user", { ownerUid: "alice-uid" }, {}, undefined],
    ["a user who is locked", {}, { users: [user({ locked: true })] }, "its user is locked"],
    ["a user who is gone", {}, { users: [] }, "its user does not exist"],
    ["a user of another name", {}, { users: [user({ name: "bob" })] }, "its user does not exist"],
    ["a new user of its name", { ownerUid: "x" }, {}, "its user was deleted, and another one has its name"],
    ["a team", { owner: { kind: "team", name: "devs" }, ownerUid: "devs-uid" }, { teams }, undefined],
    ["a team that is gone", { owner: { kind: "team", name: "devs" } }, {}, "its team does not exist"],
    ["a team, though there is such a user", { owner: { kind: "team", name: "alice" } }, {}, "its team does not exist"],
    [
      "a user, though there is such a team",
      { owner: { kind: "user", name: "devs" } },
      { teams },
      "its user does not exist",
    ],
    [
      "a new team of its name",
      { owner: { kind: "team", name: "devs" }, ownerUid: "x" },
      { teams },
      "its team was deleted, and another one has its name",
    ],
    ["a subject whom nobody knows", { owner: { kind: "subject", name: "ci" } }, {}, undefined],
    [
      "the subject of a user",
      { owner: { kind: "subject", name: "ci" } },
      { users: [user({ subject: "ci" })] },
      undefined,
    ],
    [
      "the subject of a locked user",
      { owner: { kind: "subject", name: "ci" } },
      { users: [user({ subject: "ci", locked: true })] },
      "its user is locked",
    ],
    [
      "a subject that is called as a locked user",
      { owner: { kind: "subject", name: "alice" } },
      { users: [user({ subject: "ci", locked: true })] },
      undefined,
    ],
  ])("%s", (_what, parts, world, cause) => expect(refusal(parts, world)).toBe(cause));
});

describe("a key that was created with another (security book 2)", () => {
  const parent = (parts: Partial<KeyRecord> = {}): KeyRecord =>
    keyRecord({ name: "parent", uid: "parent-uid", id: "parent", ...parts });
  const child = (parents: readonly KeyRecord[], parts: Partial<KeyRecord> = {}, world: Partial<KeyWorld> = {}) =>
    refusal({ parentUids: parents.map(({ uid }) => uid), ...parts }, { ...world, keys: parents });
  const narrow = { scope: { ...emptyScope, projects: [{ project: "a" }] }, ruleSets: [] };

  it("is valid with it", () => expect(child([parent()])).toBeUndefined());

  it("is refused when it is gone", () => {
    expect(refusal({ parentUids: ["parent-uid"] })).toBe("the key it was created with does not exist");
  });

  test.each<readonly [Partial<KeyRecord>, string]>([
    [{ deletedFrom: 0 }, "being deleted"],
    [{ disabled: true }, "disabled"],
    [{ ttl: 1_000 }, "expired"],
    [{ isLocked: true }, "locked: an old value was used after its rotation"],
    [{ owner: { kind: "user", name: "gone" } }, "its user does not exist"],
  ])("is refused with it, when that is %j", (parts, cause) => {
    const refused = `the key it was created with is refused: ${cause}`;
    expect(child([parent(parts)])).toBe(refused);
    const good = parent({ name: "good", uid: "good-uid", id: "good" });
    expect(child([good, parent(parts)])).toBe(refused);
    const grandparent = parent({ ...parts, name: "grand", uid: "grand-uid", id: "grand" });
    const between = parent({ parentUids: ["grand-uid"] });
    expect(refusal({ parentUids: ["parent-uid"] }, { keys: [between, grandparent] })).toBe(
      `the key it was created with is refused: ${refused}`,
    );
  });

  it("is refused where it reaches further, also when that was narrowed afterwards", () => {
    expect(child([parent({ restrictions: narrow })])).toBe("has more permissions than the key it was created with");
    expect(child([parent({ restrictions: narrow })], { restrictions: narrow })).toBeUndefined();
    expect(child([parent()], { restrictions: narrow })).toBeUndefined();
  });

  test.each<readonly [Partial<KeyRecord>, Partial<KeyRecord>, string]>([
    [{ sourceRanges: ["10.0.0.0/8"] }, { sourceRanges: ["10.1.0.0/16"] }, "is accepted from more addresses"],
    [{ audiences: ["a"] }, { audiences: ["a"] }, "is accepted by more audiences"],
    [{ confirmation: "aa" }, { confirmation: "bb" }, "is bound to no client certificate"],
  ])("is refused where its parent was bound by %j afterwards", (bound, within, message) => {
    expect(child([parent(bound)])).toMatch(new RegExp(`^${message}`));
    expect(child([parent(bound)], within)).toBeUndefined();
    expect(child([parent()], bound)).toBeUndefined();
  });

  it("is refused where sixteen others came before, and where keys claim to have made each other", () => {
    const chain = (length: number): readonly KeyRecord[] =>
      Array.from({ length }, (_, at) =>
        keyRecord({
          name: `${at}`,
          uid: `uid-${at}`,
          id: `id-${at}`,
          parentUids: at + 1 < length ? [`uid-${at + 1}`] : [],
        }),
      );
    const refusalOfChain = (length: number) =>
      evaluatedKeys(keyWorld({ keys: chain(length) })).refusalOf({ uid: "uid-0", id: "id-0" });
    expect(refusalOfChain(17)).toBeUndefined();
    expect(refusalOfChain(18)).toMatch(/: created through too many other keys$/);
    expect(refusal({ parentUids: [key.uid] })).toMatch(/: created through too many other keys$/);
  });
});
