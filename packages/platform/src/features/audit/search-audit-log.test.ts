// Records of a search, and how one ends whose requester has gone: other searches wait for it.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AuditRecord, actorOf } from "@postern/apimachinery/audit/audit-record";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../testing/temporary-directory.ts";
import { searchAuditLog } from "./search-audit-log.ts";

const LINES = 30_000;
const event = (number: number): string =>
  JSON.stringify({ auditID: `a${number}`, stage: "ResponseComplete", verb: "get", user: { username: "jane" } });

it("ends with its signal, also where nothing is found", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  await writeFile(file, Array.from({ length: LINES }, (_, number) => `${event(number)}\n`).join(""));
  const gone = new AbortController();
  const found = searchAuditLog([file, file], { user: "jane" }, gone.signal);
  expect((await found.next()).value).toMatchObject({ user: "jane" });
  const none = searchAuditLog(Array(50).fill(file), { user: "nobody" }, gone.signal).next();
  gone.abort(new Error("the client has gone"));
  await expect(none).rejects.toThrow("the client has gone");
  let more = 0;
  const rest = (async () => {
    for await (const _ of found) more++;
  })();
  await expect(rest).rejects.toThrow("the client has gone");
  expect(more).toBeLessThan(LINES);
});

it("a sign-in is found by the user who signed in", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const line = {
    stage: "ResponseComplete",
    verb: "post",
    requestURI: "/login/session",
    user: { username: "system:anonymous" },
    annotations: { "example.com/sign-in-user": "jane" },
  };
  await writeFile(file, `${JSON.stringify(line)}\n`);
  const { value } = await searchAuditLog([file], { user: "jane" }).next();
  expect(value).toMatchObject({ user: "system:anonymous", signedInUser: "jane" });
  expect((await searchAuditLog([file], { user: "ben" }).next()).value).toBeUndefined();
});

it("a refused key is found by its owner, and a refused sign-in has its reason", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const refused = {
    stage: "ResponseComplete",
    verb: "get",
    user: {},
    annotations: { "access-key/owner": "user/jane" },
  };
  const signIn = { ...refused, annotations: { "example.com/sign-in-refusal": "its user is locked" } };
  await writeFile(file, [refused, signIn].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const search = async (user?: string) => {
    const found: AuditRecord[] = [];
    for await (const record of searchAuditLog([file], { user })) found.push(record);
    return found;
  };
  expect(await search("jane")).toMatchObject([{ user: "", owner: "user/jane" }]);
  expect(await search("ben")).toEqual([]);
  expect(await search()).toMatchObject([{ owner: "user/jane" }, { refusal: "its user is locked" }]);
});

it.each([
  ["team/shop", "postern:team:shop", "team/shop"],
  ["subject/postern:vcluster:p-shop:dev", "postern:vcluster:p-shop:dev", "postern:vcluster:p-shop:dev"],
])("a refused key of %s is found with its requests before, by %s, and shown as of %s", async (owner, user, shown) => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const lines = [
    { auditID: "before", user: { username: user } },
    { auditID: "refused", annotations: { "access-key/owner": owner } },
    { auditID: "of a user with this name", annotations: { "access-key/owner": "user/shop" } },
    { auditID: "of another team", annotations: { "access-key/owner": "team/my-shop" } },
  ];
  await writeFile(file, lines.map((line) => `${JSON.stringify({ stage: "ResponseComplete", ...line })}\n`).join(""));
  const search = async (asked: string) => {
    const found: AuditRecord[] = [];
    for await (const record of searchAuditLog([file], { user: asked })) found.push(record);
    return found;
  };
  const found = await search(user);
  expect(found.map(({ auditID }) => auditID)).toEqual(["before", "refused"]);
  expect(found.map(actorOf)).toEqual([user, shown]);
  expect((await search(shown)).map(({ auditID }) => auditID)).toContain("refused");
  expect((await search("shop")).map(({ auditID }) => auditID)).toEqual(["of a user with this name"]);
});

it.each([
  [403, 'projects "shop" is forbidden', 'projects "shop" is forbidden'],
  [500, "", undefined],
  [200, "of a request that did not fail", undefined],
])("a record of an answer with %i and %j has the message %j", async (code, given, message) => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const line = { stage: "ResponseComplete", verb: "get", responseStatus: { code, message: given } };
  await writeFile(file, `${JSON.stringify(line)}\n`);
  const { value } = await searchAuditLog([file], {}).next();
  expect([value?.code, value?.message]).toEqual([code, message]);
});

it("a request with the value of a deleted key is found by the name of the key", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const credential = "authentication.kubernetes.io/credential-id";
  const lines = [
    {
      auditID: "issued",
      objectRef: { resource: "ownedaccesskeys", name: "ci" },
      annotations: { "authentication.kubernetes.io/issued-credential-id": "first" },
    },
    { auditID: "used", annotations: { "access-key/name": "ci", [credential]: "second" } },
    { auditID: "of another", annotations: { "access-key/name": "cd", [credential]: "third" } },
    ...["first", "second", "third"].map((id) => ({
      auditID: `after ${id}`,
      annotations: { "access-key/presented-id": id },
    })),
  ];
  await writeFile(file, lines.map((line) => `${JSON.stringify({ stage: "ResponseComplete", ...line })}\n`).join(""));
  const search = async (key: string) => {
    const found: string[] = [];
    for await (const { auditID } of searchAuditLog([file], { key })) found.push(auditID);
    return found;
  };
  expect(await search("ci")).toEqual(["used", "after first", "after second"]);
  expect(await search("third")).toEqual(["of another", "after third"]);
});

it("a request with what a deleted key had created is found by the name of the key", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const credential = "authentication.kubernetes.io/credential-id";
  const issued = "authentication.kubernetes.io/issued-credential-id";
  const lines = [
    { auditID: "kubeconfig", annotations: { "access-key/name": "ci", [credential]: "ci-1", [issued]: "child" } },
    {
      auditID: "key of the kubeconfig",
      annotations: {
        "access-key/name": "demo",
        "access-key/origins": "ci,admin",
        [credential]: "child",
        [issued]: "grandchild",
      },
    },
    { auditID: "of another", annotations: { "access-key/name": "cd", [credential]: "cd-1", [issued]: "stranger" } },
    ...["child", "grandchild", "stranger"].map((id) => ({
      auditID: `after ${id}`,
      annotations: { "access-key/presented-id": id },
    })),
  ];
  await writeFile(file, lines.map((line) => `${JSON.stringify({ stage: "ResponseComplete", ...line })}\n`).join(""));
  for (const key of ["ci", "ci-1"]) {
    const found: string[] = [];
    for await (const { auditID } of searchAuditLog([file], { key })) found.push(auditID);
    expect(found).toEqual(expect.arrayContaining(["kubeconfig", "after child"]));
    expect(found.includes("after grandchild")).toBe(key === "ci");
    expect(found).not.toContain("after stranger");
  }
});

it("requests with the keys of a trust rule are found by the rule, also after their keys were deleted", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const credential = "authentication.kubernetes.io/credential-id";
  const issued = "authentication.kubernetes.io/issued-credential-id";
  const exchange = (rule: string, id: string) => ({
    auditID: `exchange ${id}`,
    annotations: { "example.com/trust-rule": rule, [issued]: id },
  });
  const use = (auditID: string, name: string, id: string, more = {}) => ({
    auditID,
    annotations: { "access-key/name": name, [credential]: id, ...more },
  });
  const lines = [
    exchange("trustrules/p-shop/deploy", "first"),
    exchange("trustrules/p-bank/deploy", "second"),
    exchange("clustertrustrules/deploy-all", "third"),
    exchange("trustrules/p-my-shop/deploy-all", "fifth"),
    use("job of shop", "deploy-1", "first", { [issued]: "child" }),
    use("job of bank", "deploy-2", "second"),
    use("with the kubeconfig of a job", "demo-1", "child", { "access-key/origins": "deploy-1,admin" }),
    use("with a value that the log does not show", "demo-2", "other", { "access-key/origins": "deploy-1,admin" }),
    use("of the administrator", "admin", "fourth"),
    ...["child", "second", "third"].map((id) => ({
      auditID: `after ${id}`,
      annotations: { "access-key/presented-id": id },
    })),
  ];
  await writeFile(file, lines.map((line) => `${JSON.stringify({ stage: "ResponseComplete", ...line })}\n`).join(""));
  const search = async (trustRule: string) => {
    const found: string[] = [];
    for await (const { auditID } of searchAuditLog([file], { trustRule, namespacePrefix: "p-" })) found.push(auditID);
    return found;
  };
  const ofShop = [
    "exchange first",
    "job of shop",
    "with the kubeconfig of a job",
    "with a value that the log does not show",
    "after child",
  ];
  expect(await search("p-shop/deploy")).toEqual(ofShop);
  expect(await search("trustrules/p-shop/deploy")).toEqual(ofShop);
  expect(await search("shop/deploy")).toEqual(ofShop);
  expect(await search("shop/deploy-all")).toEqual([]);
  expect(await search("clustertrustrules/deploy-all")).toEqual(["exchange third", "after third"]);
  expect(await search("p-bank/deploy")).toEqual(["exchange second", "job of bank", "after second"]);
  expect(await search("deploy")).toEqual([...ofShop, "exchange second", "job of bank", "after second"].sort(byLine));
  expect(await search("deploy-all")).toEqual(["exchange third", "exchange fifth", "after third"]);
  expect(await search("shop")).toEqual([]);

  function byLine(a: string, b: string): number {
    const at = (id: string) => lines.findIndex(({ auditID }) => auditID === id);
    return at(a) - at(b);
  }
});

it("annotations of policies in virtual clusters are no sign-ins and no exchanges", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const line = {
    stage: "ResponseComplete",
    verb: "create",
    user: { username: "mallory" },
    annotations: {
      "proxy/target": "virtualcluster/shop/demo",
      "example.com/sign-in-user": "jane",
      "example.com/sign-in-refusal": "its user is locked",
      "example.com/trust-rule": "trustrules/p-shop/deploy",
    },
  };
  await writeFile(file, `${JSON.stringify(line)}\n`);
  const { value } = await searchAuditLog([file], {}).next();
  expect(value).toMatchObject({ user: "mallory" });
  expect(value).not.toHaveProperty("signedInUser");
  expect(value).not.toHaveProperty("refusal");
  expect((await searchAuditLog([file], { user: "jane" }).next()).value).toBeUndefined();
  expect((await searchAuditLog([file], { trustRule: "deploy" }).next()).value).toBeUndefined();
});

it("names that credentials of virtual clusters make up are no users of the platform", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "audit.log");
  const credential = "authentication.kubernetes.io/credential-id";
  const target = { "proxy/target": "virtualcluster/shop/demo" };
  const lines = [
    {
      user: { username: "jane" },
      annotations: { ...target, [credential]: "certificate:ab", "access-key/owner": "user/mallory" },
    },
    {
      user: { username: "mallory" },
      impersonatedUser: { username: "jane" },
      annotations: { ...target, [credential]: "certificate:cd" },
    },
    {
      user: { username: "system:serviceaccount:a:b" },
      impersonatedUser: { username: "jane" },
      annotations: { ...target, [credential]: "serviceaccount:u:c" },
    },
    {
      user: { username: "admin" },
      impersonatedUser: { username: "jane" },
      annotations: { [credential]: "abcdefghij" },
    },
  ];
  await writeFile(file, lines.map((line) => `${JSON.stringify({ stage: "ResponseComplete", ...line })}\n`).join(""));
  const actors = async (user: string) => {
    const found: string[] = [];
    for await (const record of searchAuditLog([file], { user })) found.push(actorOf(record));
    return found;
  };
  expect(await actors("jane")).toEqual(["admin"]);
  expect(await actors("mallory")).toEqual(["jane (mallory)", "mallory"]);
});
