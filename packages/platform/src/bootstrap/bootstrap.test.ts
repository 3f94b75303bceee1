// Manifests of --bootstrap-dir on a whole server that is started again and again over one SQLite file.

import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";
import { startPlatform } from "../testing/running-platform.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../testing/temporary-directory.ts";

let temporary: TemporaryDirectory;
let manifests: string;
let data: string;

beforeEach(async () => {
  temporary = await temporaryDirectory();
  manifests = join(temporary.path, "manifests");
  data = join(temporary.path, "data");
  await mkdir(manifests);
});

afterEach(async () => {
  await temporary[Symbol.asyncDispose]();
});

const write = (name: string, ...documents: readonly object[]): Promise<void> =>
  writeFile(join(manifests, name), documents.map((document) => JSON.stringify(document)).join("\n---\n"));

const start = (flags: { readonly [flag: string]: string } = {}) =>
  startPlatform({ "bootstrap-dir": manifests, "data-dir": data, store: `sqlite:${data}/postern.db`, ...flags });

const management = (kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "management.postern/v1",
  kind,
  metadata: { name, ...metadata },
  spec,
});

const jane = management("User", "jane", { displayName: "Jane", subject: "jane", groups: ["postern:admins"] });
const states = async (platform: Awaited<ReturnType<typeof start>>): Promise<Record<string, number>> => {
  const { text } = await platform.send({ path: "/metrics" });
  const lines = [...text.matchAll(/^postern_bootstrap_manifests\{state="(\w+)"\} (\d+)$/gm)];
  return Object.fromEntries(lines.map(([, state = "", count]) => [state, Number(count)]));
};
const faultOf = async (): Promise<string> => {
  const error = await start().then(
    async (platform) => {
      await platform[Symbol.asyncDispose]();
      return new Error("the server started");
    },
    (error: unknown) => error,
  );
  if (!(error instanceof ConfigurationError)) throw error;
  return error.message;
};

test("applies dependent objects in one start, in any order of the files, and changes nothing at the next", async () => {
  const space = "p-web";
  await write(
    "a.yaml",
    management(
      "OwnedAccessKey",
      "robot",
      { displayName: "Robot", user: "jane", ttl: 0, secretRef: { namespace: space, name: "robot" } },
      { annotations: { "postern/bootstrap-file": "robot.key" } },
    ),
    management("VirtualClusterInstance", "dev", { displayName: "Dev" }, { namespace: space }),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "readers", namespace: space },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
    },
  );
  await write("b.json", {
    apiVersion: "v1",
    kind: "List",
    items: [management("Project", "web", { owner: { user: "jane" } }), jane],
  });
  await write("c.yml", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "reader" },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  });
  await write("notes.txt", { broken: true });

  const read = async (platform: Awaited<ReturnType<typeof start>>) => {
    const paths = [
      "users/jane",
      "projects/web",
      "ownedaccesskeys/robot",
      `namespaces/${space}/virtualclusterinstances/dev`,
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/reader",
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${space}/rolebindings/readers`,
    ];
    const answers = await Promise.all(paths.map((path) => platform.send({ path })));
    return answers.map(({ status, body }) => [status, body.kind, body.spec, body.metadata.generation]);
  };
  let value = "";
  let first: unknown;
  {
    await using platform = await start();
    expect(await states(platform)).toEqual({ created: 6 });
    first = await read(platform);
    value = (await readFile(join(data, "bootstrap/robot.key"), "utf8")).trim();
    const { body } = await platform.send({ path: `/api/v1/namespaces/${space}/secrets/robot` });
    expect(Buffer.from(body.data.key, "base64").toString()).toBe(value);
    // A first administrator without the file of the first start.
    expect((await platform.send({ path: "users", key: value })).status).toBe(200);
  }
  expect((await stat(join(data, "bootstrap/robot.key"))).mode & 0o777).toBe(0o600);
  expect((await stat(join(data, "bootstrap"))).mode & 0o777).toBe(0o700);
  await using platform = await start();
  expect(await states(platform)).toEqual({ unchanged: 6 });
  expect(await read(platform)).toEqual(first);
  expect((await readFile(join(data, "bootstrap/robot.key"), "utf8")).trim()).toBe(value);
  expect(await readdir(join(data, "bootstrap"))).toEqual(["robot.key"]);
  expect((await platform.send({ path: "selves", key: value, body: {} })).status).toBe(201);
});

test("leaves fields that others have changed, reports them, and applies the rest", async () => {
  await write("users.yaml", jane);
  {
    await using platform = await start();
    const { status } = await platform.send({
      method: "PATCH",
      path: "users/jane?fieldManager=kubectl-edit",
      body: { spec: { displayName: "Jane D." } },
    });
    expect(status).toBe(200);
  }
  await write("users.yaml", { ...jane, spec: { ...jane.spec, email: "jane@example.com" } });
  {
    await using platform = await start();
    const { body } = await platform.send({ path: "users/jane" });
    expect(body.spec).toMatchObject({ displayName: "Jane D.", email: "jane@example.com" });
    expect(await states(platform)).toEqual({ drifted: 1 });
    const isTold = ({ body: list }: any) => list.items.some(({ reason }: any) => reason === "BootstrapDrift");
    await platform.until({ path: "/api/v1/namespaces/default/events" }, isTold);
    const { body: events } = await platform.send({ path: "/api/v1/namespaces/default/events" });
    const event = events.items.find(({ reason }: any) => reason === "BootstrapDrift");
    expect(event).toMatchObject({ type: "Warning", involvedObject: { kind: "User", name: "jane" } });
    expect(event.message).toContain("users.yaml, document 1 (line 1)");
    expect(event.message).toContain('.spec.displayName (conflict with "kubectl-edit"');
    expect(await readFile(join(platform.directory, "postern.log"), "utf8").catch(() => "")).toBeDefined();
  }
  {
    await using platform = await start({ "bootstrap-drift": "overwrite" });
    const { body } = await platform.send({ path: "users/jane" });
    expect(body.spec).toMatchObject({ displayName: "Jane", email: "jane@example.com" });
    expect(await states(platform)).toEqual({ changed: 1 });
  }
  await using platform = await start();
  expect(await states(platform)).toEqual({ unchanged: 1 });
});

test("takes over fields that only the server has written", async () => {
  const admin = management("User", "admin", { displayName: "Root", groups: ["postern:admins", "ops"] });
  await write("admin.yaml", admin);
  {
    await using platform = await start();
    expect((await platform.send({ path: "users/admin" })).body.spec).toMatchObject({
      displayName: "Root",
      subject: "admin",
    });
    expect(await states(platform)).toEqual({ changed: 1 });
  }
  await using platform = await start();
  expect(await states(platform)).toEqual({ unchanged: 1 });
});

test("a key that was deleted comes back with another value, never with the one in the file", async () => {
  const annotations = { "postern/bootstrap-file": "robot.kubeconfig" };
  await write("keys.yaml", jane, management("OwnedAccessKey", "robot", { user: "jane" }, { annotations }));
  const tokenOf = async (): Promise<string> =>
    /token: (\S+)/.exec(await readFile(join(data, "bootstrap/robot.kubeconfig"), "utf8"))?.[1] ?? "";
  let before = "";
  {
    await using platform = await start();
    before = await tokenOf();
    expect((await platform.send({ path: "selves", key: before, body: {} })).status).toBe(201);
    await platform.send({ method: "DELETE", path: "ownedaccesskeys/robot" });
  }
  await using platform = await start();
  const after = await tokenOf();
  expect(after).not.toBe(before);
  expect((await platform.send({ path: "selves", key: after, body: {} })).status).toBe(201);
  expect((await platform.send({ path: "selves", key: before, body: {} })).status).toBe(401);
});

test("a value that was on disk before a crash gets its file only if the key has it", async () => {
  const annotations = { "postern/bootstrap-file": "robot.key" };
  await write("keys.yaml", jane, management("OwnedAccessKey", "robot", { user: "jane" }, { annotations }));
  let value = "";
  {
    await using _platform = await start();
    value = await readFile(join(data, "bootstrap/robot.key"), "utf8");
  }
  await writeFile(join(data, "bootstrap/robot.key.pending"), value.trim());
  await writeFile(join(data, "bootstrap/robot.key"), "");
  {
    await using _platform = await start();
    expect(await readFile(join(data, "bootstrap/robot.key"), "utf8")).toBe(value);
  }
  await writeFile(join(data, "bootstrap/robot.key.pending"), "of nobody");
  await using _platform = await start();
  expect(await readFile(join(data, "bootstrap/robot.key"), "utf8")).toBe(value);
  expect(await readdir(join(data, "bootstrap"))).toEqual(["robot.key"]);
});

test("reads a mounted ConfigMap, whose files are links below a hidden directory", async () => {
  await mkdir(join(manifests, "..2026"));
  await writeFile(join(manifests, "..2026/users.yaml"), JSON.stringify(jane));
  await symlink("..2026", join(manifests, "..data"));
  await symlink("..data/users.yaml", join(manifests, "users.yaml"));
  await using platform = await start();
  expect(await states(platform)).toEqual({ created: 1 });
});

test.each([
  [
    "text that is no YAML",
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# nothing\n---\na: [",
    /^the bootstrap manifests in \S+ cannot be applied: m\.yaml, document 2 \(line 7\): yaml: line [78]: /,
  ],
  ["a member that comes twice", "kind: User\nkind: User", /document 1 \(line 1\): line 2: key "kind" already set/],
  ["no object", "- a", /document 1 \(line 1\): must be an object/],
  ["no name", "apiVersion: v1\nkind: Namespace\nmetadata: {generateName: a}", /metadata\.name: required/],
  [
    "a kind that is not served",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}",
    /kind: Deployment of apps\/v1 is not served/,
  ],
  [
    "another version",
    "apiVersion: management.postern/v2\nkind: User\nmetadata: {name: a}",
    /apiVersion: User is served in v1/,
  ],
  [
    "a kind without objects",
    "apiVersion: management.postern/v1\nkind: Self\nmetadata: {name: a}",
    /kind: Self cannot be applied/,
  ],
  ["no namespace", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}", /metadata\.namespace: required/],
  [
    "a namespace too many",
    "apiVersion: management.postern/v1\nkind: User\nmetadata: {name: a, namespace: b}",
    /metadata\.namespace: User is cluster-scoped/,
  ],
  [
    "one object twice",
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}",
    /document 2 \(line 5\): metadata\.name: the same object is in m\.yaml, document 1 \(line 1\)/,
  ],
  [
    "a key without an owner",
    "apiVersion: management.postern/v1\nkind: OwnedAccessKey\nmetadata: {name: a}",
    /spec\.user: required/,
  ],
  [
    "a file elsewhere",
    "apiVersion: management.postern/v1\nkind: OwnedAccessKey\nmetadata: {name: a, annotations: {postern/bootstrap-file: ../a}}\nspec: {user: admin}",
    /metadata\.annotations\[postern\/bootstrap-file\]: must be a file name/,
  ],
  [
    "an unknown field",
    "apiVersion: management.postern/v1\nkind: User\nmetadata: {name: a}\nspec: {displayNaem: A}",
    /document 1 \(line 1\): .*\.spec\.displayNaem: field not declared/,
  ],
  [
    "a value that is refused",
    "apiVersion: management.postern/v1\nkind: OwnedAccessKey\nmetadata: {name: a}\nspec: {user: admin, ttl: -1}",
    /document 1 \(line 1\): .*spec\.ttl: Invalid value/,
  ],
])("does not start with %s", async (_, text, fault) => {
  await writeFile(join(manifests, "m.yaml"), text);
  expect(await faultOf()).toMatch(fault);
});

test("reports every error at once, and applies the other manifests", async () => {
  await write("a.yaml", management("User", "wrong", { displayName: 1 }), jane, management("Team", "b!", {}));
  const fault = await faultOf();
  expect(fault).toContain("a.yaml, document 1 (line 1): ");
  expect(fault).toContain("; a.yaml, document 3 (line 5): ");
  await write("a.yaml", jane);
  await using platform = await start();
  expect(await states(platform)).toEqual({ unchanged: 1 });
});

test("does not start without its directory", async () => {
  manifests = join(temporary.path, "absent");
  expect(await faultOf()).toMatch(/absent cannot be read \(ENOENT\): correct --bootstrap-dir/);
});
