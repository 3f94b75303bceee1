// Writes by existing clients of the original interface: they share, create, keep secrets, put to sleep and wake, and apply
// manifests with every field that the original has. Requests as the sources of its command line send them.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import original from "../../packages/platform/src/server/testing/original-fields.json" with { type: "json" };
import { type Answer, adminKey, type HttpClient, type HttpRequest, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";

const GROUP = "management.loft.sh/v1";
const BASE = `/kubernetes/management/apis/${GROUP}`;
const INSTANCES = "namespaces/p-default/virtualclusterinstances";
const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

let server: OwnServer;
let http: HttpClient;
let admin: string;

beforeAll(async () => {
  server = await startOwnServer(["--platform-domain", "loft.sh"]);
  http = await httpClient(server);
  admin = await adminKey(server);
});
afterAll(() => server?.[Symbol.asyncDispose]());

const ask = (path: string, options: HttpRequest = {}): Promise<Answer> =>
  http(path.startsWith("/") ? path : `${BASE}/${path}`, { key: admin, ...options });

async function ok(path: string, options: HttpRequest = {}): Promise<any> {
  const { status, text, body } = await ask(path, options);
  expect([200, 201], `${path}: ${text}`).toContain(status);
  return body;
}

const object = (kind: string, metadata: object, spec: object): object => ({
  kind,
  apiVersion: GROUP,
  metadata,
  spec,
  status: {},
});

/** Once more where a controller has written its status meanwhile. */
async function replace(path: string, change: (current: any) => object, key = admin): Promise<any> {
  for (;;) {
    const { status, text, body } = await ask(path, { key, method: "PUT", body: change(await ok(path, { key })) });
    if (status === 409) continue;
    expect(status, text).toBe(200);
    return body;
  }
}

const patch = (path: string, body: object, key = admin): Promise<any> =>
  ok(path, { key, method: "PATCH", body, headers: { "content-type": "application/merge-patch+json" } });

/** A user of that name, and a key for it. */
async function personWithKey(name: string): Promise<string> {
  await ok("users", { body: object("User", { name }, {}) });
  return (await ok("ownedaccesskeys", { body: object("OwnedAccessKey", { name: `of-${name}` }, { user: name }) })).spec
    .key;
}

const setMembers = (...members: readonly (readonly [name: string, role: string])[]): Promise<any> =>
  patch("projects/default", {
    spec: {
      members: members.map(([name, clusterRole]) => ({ kind: "User", group: "storage.loft.sh", name, clusterRole })),
    },
  });

async function insideGroups(key: string): Promise<readonly string[]> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const { status } = await ok(`${DEMO}/apis/authentication.k8s.io/v1/selfsubjectreviews`, { key, body: review });
  return status.userInfo.groups.filter((group: string) => group.startsWith("loft:role:"));
}

const canCreate = async (key: string, resource: string, subresource: string): Promise<boolean> => {
  const resourceAttributes = {
    verb: "create",
    group: "management.loft.sh",
    version: "v1",
    resource,
    subresource,
    namespace: "p-default",
  };
  const { status } = await ok("selfsubjectaccessreviews", {
    key,
    body: object("SelfSubjectAccessReview", {}, { resourceAttributes }),
  });
  return status.allowed && !(status.denied ?? false);
};

describe("share vcluster", () => {
  const share = (rule: object): Promise<any> =>
    replace(`${INSTANCES}/demo`, (current) => ({
      ...current,
      spec: { ...current.spec, extraAccessRules: [...(current.spec.extraAccessRules ?? []), rule] },
    }));

  it("takes nothing away from a project's user, and adds what its default role means", async () => {
    const uma = await personWithKey("uma");
    await setMembers(["uma", "loft-management-project-user"]);
    await expect.poll(() => insideGroups(uma)).toEqual(["loft:role:edit"]);
    await share({ clusterRole: "loft-cluster-space-admin", users: ["uma"] });
    await share({ clusterRole: "not-there", users: ["uma"] });
    await expect.poll(() => insideGroups(uma)).toEqual(["loft:role:edit", "loft:role:admin", "loft:role:not-there"]);
    const map = { metadata: { name: "of-uma" } };
    expect((await ask(`${DEMO}/api/v1/namespaces/default/configmaps`, { key: uma, body: map })).status).toBe(201);
  });

  it("gives a user outside the project exactly the granted access", async () => {
    const gus = await personWithKey("gus");
    expect((await ok("projects", { key: gus })).items).toEqual([]);
    expect((await ask(`${DEMO}/api/v1/namespaces`, { key: gus })).status).toBe(403);
    await share({ clusterRole: "loft-cluster-space-admin", users: ["gus"] });
    // The requests of `connect vcluster demo`, with and without --project.
    const projects = async () => (await ok("projects", { key: gus })).items.map(({ metadata }: any) => metadata.name);
    await expect.poll(projects).toEqual(["default"]);
    expect(await ok("projects/default", { key: gus })).toMatchObject({ kind: "Project" });
    const { items } = await ok("virtualclusterinstances?extended=true", { key: gus });
    expect(items).toMatchObject([{ metadata: { name: "demo" }, status: { canUse: true, canUpdate: false } }]);
    expect((await ok("projects/default/clusters", { key: gus })).clusters).toMatchObject([
      { metadata: { name: "embedded" } },
    ]);
    const binding = async () => (await ask(`${DEMO}/api/v1/namespaces/default/secrets`, { key: gus })).status;
    await expect.poll(binding).toBe(200);
    // Administrator of the namespaces, not of the cluster.
    expect((await ask(`${DEMO}${RBAC}/clusterroles`, { key: gus, body: { metadata: { name: "mine" } } })).status).toBe(
      403,
    );
    expect((await ask(`${INSTANCES}/demo`, { key: gus, method: "DELETE" })).status).toBe(403);
    expect((await ask("namespaces/p-default/projectsecrets", { key: gus })).status).toBe(403);
  });
});

describe("create", () => {
  let pia: string;

  it("is what a project's administrator may do without a template", async () => {
    pia = await personWithKey("pia");
    await setMembers(["uma", "loft:project-user"], ["pia", "loft-management-project-admin"]);
    await expect.poll(() => canCreate(pia, "virtualclusterinstances", "restricted")).toBe(true);
    expect(await canCreate(await personWithKey("nobody"), "virtualclusterinstances", "restricted")).toBe(false);
    const spec = {
      template: {
        helmRelease: { chart: { name: "vcluster" }, values: "" },
        forwardToken: true,
        pro: { enabled: true },
      },
      clusterRef: { cluster: "embedded" },
    };
    const metadata = { name: "made", namespace: "p-default", annotations: { "sleepmode.loft.sh/timezone": "UTC#0" } };
    const made = await ask(INSTANCES, { key: pia, body: object("VirtualClusterInstance", metadata, spec) });
    expect(made.status, made.text).toBe(201);
    const phase = async () => (await ok(`${INSTANCES}/made`, { key: pia })).status.phase;
    await expect.poll(phase).toBe("Ready");
  });

  it("namespace finds the template that it asks for, and makes the space", async () => {
    const templates = await ok("projects/default/templates", { key: pia });
    expect(templates).toMatchObject({ kind: "ProjectTemplates", apiVersion: GROUP, virtualClusterTemplates: [] });
    expect(templates.spaceTemplates).toHaveLength(1);
    const [
      {
        metadata: { name },
      },
    ] = templates.spaceTemplates;
    expect(templates.defaultSpaceTemplate).toBe(name);
    expect((await ask("projects/nothing/templates")).status).toBe(404);
    const spec = { owner: { user: "pia" }, templateRef: { name }, clusterRef: { cluster: "embedded" }, parameters: "" };
    const space = await ask("namespaces/p-default/spaceinstances", {
      key: pia,
      body: object("SpaceInstance", { name: "team", namespace: "p-default" }, spec),
    });
    expect(space.status, space.text).toBe(201);
    const phase = async () => (await ok("namespaces/p-default/spaceinstances/team")).status.phase;
    await expect.poll(phase).toBe("Ready");
  });

  it("namespace is shared with a user outside the project", async () => {
    const guest = await personWithKey("sue");
    const maps = "/kubernetes/project/default/space/team/api/v1/namespaces/team/configmaps";
    expect((await ask(maps, { key: guest })).status).toBe(403);
    const rule = { clusterRole: "loft-cluster-space-admin", users: ["sue"] };
    await replace("namespaces/p-default/spaceinstances/team", (space) => ({
      ...space,
      spec: { ...space.spec, extraAccessRules: [rule], templateRef: { ...space.spec.templateRef, syncOnce: true } },
    }));
    // The requests of `platform connect namespace`.
    const seen = async () =>
      (await ask("spaceinstances?extended=true", { key: guest })).body?.items?.map(
        ({ metadata }: any) => metadata.name,
      );
    await expect.poll(seen).toEqual(["team"]);
    expect((await ok("projects/default/clusters", { key: guest })).clusters).toMatchObject([
      { metadata: { name: "embedded" } },
    ]);
    await expect.poll(async () => (await ask(maps, { key: guest })).status).toBe(200);
    expect((await ask("/kubernetes/cluster/embedded/api/v1/secrets", { key: guest })).status).toBe(403);
  });

  it("is refused in a cluster that is unusable", async () => {
    await ok("clusters", { body: object("Cluster", { name: "full" }, { unusable: true }) });
    const spec = { clusterRef: { cluster: "full" } };
    const made = await ask(INSTANCES, { body: object("VirtualClusterInstance", { name: "late" }, spec) });
    expect([made.status, made.text]).toEqual([422, expect.stringContaining("accepts no new instances")]);
  });
});

describe("secrets", () => {
  const SECRETS = "namespaces/p-default/projectsecrets";
  const value = (text: string) => Buffer.from(text).toString("base64");

  it("of a project are set, got and listed", async () => {
    expect(await ask(`${SECRETS}/db`)).toMatchObject({ status: 404, body: { reason: "NotFound" } });
    await ok(SECRETS, { body: object("ProjectSecret", { name: "db" }, { data: { user: value("first") } }) });
    await replace(`${SECRETS}/db`, (current) => ({
      ...current,
      spec: { ...current.spec, data: { ...current.spec.data, password: value("second") } },
    }));
    const { items } = await ok(SECRETS);
    expect(items).toMatchObject([
      { metadata: { name: "db" }, spec: { data: { user: value("first"), password: value("second") } } },
    ]);
    // Asked for each before it is shown.
    const resourceAttributes = {
      verb: "use",
      group: "management.loft.sh",
      version: "v1",
      resource: "projectsecrets",
      namespace: "p-default",
      name: "db",
    };
    const review = object("SelfSubjectAccessReview", {}, { resourceAttributes });
    expect((await ok("selfsubjectaccessreviews", { body: review })).status).toMatchObject({ allowed: true });
    expect(
      (await ask(SECRETS, { body: object("ProjectSecret", { name: "bad" }, { data: { "a/b": "YQ==" } }) })).status,
    ).toBe(422);
  });

  it("that are shared are listed across namespaces, by administrators alone", async () => {
    await ok("namespaces/default/sharedsecrets", {
      body: object("SharedSecret", { name: "all" }, { data: { a: value("b") } }),
    });
    expect((await ok("sharedsecrets")).items).toMatchObject([{ metadata: { name: "all", namespace: "default" } }]);
    expect((await ask("sharedsecrets", { key: await personWithKey("sam") })).status).toBe(403);
  });
});

describe("sleep and wakeup", () => {
  const phase = async () => (await ok(`${INSTANCES}/demo`)).status.phase;
  const sleep = (more: object = {}) =>
    replace(`${INSTANCES}/demo`, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, "sleepmode.loft.sh/force": "true", ...more } },
    }));
  const held = { "sleepmode.loft.sh/force-duration": "0" };

  it("follow the annotations that the command line writes, and lose nothing", async () => {
    const maps = `${DEMO}/api/v1/namespaces/default/configmaps`;
    await ok(maps, { body: { metadata: { name: "kept" } } });
    const since = async () =>
      (await ok(`${INSTANCES}/demo`)).metadata.annotations?.["sleepmode.loft.sh/sleeping-since"];
    expect(await since()).toBeUndefined();
    await sleep();
    await expect.poll(phase).toBe("Sleeping");
    // The command line wakes nothing that has not slept since some time.
    const asleepAt = await since();
    expect(asleepAt).toMatch(/^\d{10}$/);
    await patch(`${INSTANCES}/demo`, {
      metadata: { annotations: { "sleepmode.loft.sh/sleeping-since": "5", other: "a" } },
    });
    expect(await since()).toBe(asleepAt);
    const force = { "sleepmode.loft.sh/force": null, "sleepmode.loft.sh/force-duration": null };
    const annotations = { ...force, "sleepmode.loft.sh/last-activity": "1795000000" };
    await patch(`${INSTANCES}/demo`, { metadata: { annotations } });
    await expect.poll(phase).toBe("Ready");
    expect(await since()).toBeUndefined();
    expect((await ok(`${maps}/kept`)).metadata.name).toBe("kept");
  });

  it("wake it for a request, unless it is held asleep", async () => {
    await sleep();
    await expect.poll(phase).toBe("Sleeping");
    // Requests without access do not wake the cluster.
    expect((await ask(`${DEMO}/api/v1/namespaces`, { key: await personWithKey("stranger") })).status).toBe(403);
    expect(await phase()).toBe("Sleeping");
    expect((await ok(`${DEMO}/api/v1/namespaces`)).kind).toBe("NamespaceList");
    await expect.poll(phase).toBe("Ready");
    expect((await ok(`${INSTANCES}/demo`)).metadata.annotations).not.toHaveProperty("sleepmode.loft.sh/force");

    await sleep(held);
    await expect.poll(phase).toBe("Sleeping");
    const refused = await ask(`${DEMO}/api/v1/namespaces`);
    expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining("sleepmode.loft.sh/force")]);
    await patch(`${INSTANCES}/demo`, {
      metadata: { annotations: { "sleepmode.loft.sh/force": null, ...{ "sleepmode.loft.sh/force-duration": null } } },
    });
    await expect.poll(phase).toBe("Ready");
  });

  it("put a space of the built-in cluster to sleep, and wake it for a request", async () => {
    const SPACES = "namespaces/p-default/spaceinstances";
    const maps = "/kubernetes/project/default/space/drowsy/api/v1/namespaces/drowsy/configmaps";
    await ok(SPACES, { body: object("SpaceInstance", { name: "drowsy", namespace: "p-default" }, {}) });
    const space = async () => await ok(`${SPACES}/drowsy`);
    const phaseOfSpace = async () => (await space()).status.phase;
    const annotate = (annotations: object) => patch(`${SPACES}/drowsy`, { metadata: { annotations } });
    await expect.poll(phaseOfSpace).toBe("Ready");
    await ok(maps, { body: { metadata: { name: "kept" } } });
    await annotate({ "sleepmode.loft.sh/force": "true" });
    await expect.poll(phaseOfSpace).toBe("Sleeping");
    expect((await space()).metadata.annotations["sleepmode.loft.sh/sleeping-since"]).toMatch(/^\d{10}$/);
    expect((await ask(maps, { key: await personWithKey("passer-by") })).status).toBe(403);
    expect(await phaseOfSpace()).toBe("Sleeping");
    expect((await ok(`${maps}/kept`)).metadata.name).toBe("kept");
    await expect.poll(phaseOfSpace).toBe("Ready");

    await annotate({ "sleepmode.loft.sh/force": "true", ...held });
    await expect.poll(phaseOfSpace).toBe("Sleeping");
    expect(await ask(maps)).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining("sleepmode.loft.sh/force") },
    });
    const awake = { "sleepmode.loft.sh/force": null, "sleepmode.loft.sh/force-duration": null };
    await annotate({ ...awake, "sleepmode.loft.sh/last-activity": "1795000000" });
    await expect.poll(phaseOfSpace).toBe("Ready");
    expect((await ok(`${maps}/kept`)).metadata.name).toBe("kept");
  });
});

describe("contexts that the command line writes", () => {
  it("name the authority that verifies the server", async () => {
    const authority = (await readFile(server.caFile)).toString("base64");
    const annotation = "loft.sh/direct-cluster-endpoint-ca-data";
    for (const cluster of [await ok("clusters/embedded"), (await ok("projects/default/clusters")).clusters[0]]) {
      expect(cluster.metadata.annotations).toMatchObject({
        [annotation]: authority,
        // Without it, a client signed in with --insecure writes contexts that kubectl refuses: they skip the check, and have a CA.
        "loft.sh/direct-cluster-endpoint-insecure": "false",
      });
    }
    await replace("clusters/embedded", (cluster) => cluster);
    const direct = { "loft.sh/direct-cluster-endpoint": "direct.example.com" };
    await ok("clusters", { body: object("Cluster", { name: "direct", annotations: direct }, {}) });
    expect((await ok("clusters/direct")).metadata.annotations).toEqual(direct);
  });

  it("of the built-in cluster lead to the management API, with the rights that its caller has there", async () => {
    const own = "/kubernetes/cluster/embedded";
    expect((await ok(`${own}/api/v1/namespaces`)).kind).toBe("NamespaceList");
    expect((await ok(`${own}/version`)).gitVersion).toMatch(/^v1\.36/);
    const stranger = await personWithKey("guest");
    expect((await ask(`${own}/api/v1/secrets`, { key: stranger })).status).toBe(403);
    const spec = { user: "admin", scope: { clusters: [{ cluster: "embedded" }] } };
    const narrow = (await ok("ownedaccesskeys", { body: object("OwnedAccessKey", { name: "narrow" }, spec) })).spec.key;
    expect((await ask(`${own}/api/v1/secrets`, { key: narrow })).status).toBe(403);
  });

  it("follow a version that is one", async () => {
    const { version, major, minor } = await ok("/version", {});
    expect([version, major, minor]).toEqual([
      // A commit without a tag is a version before the next one.
      expect.stringMatching(/^v\d+\.\d+\.\d+(-[\w.]+)?$/),
      expect.stringMatching(/^\d+$/),
      expect.stringMatching(/^\d+$/),
    ]);
  });
});

type Fields = string | readonly Fields[] | { readonly [name: string]: Fields };

/** Values for places where an arbitrary text is not valid. */
const VALUES: { readonly [place: string]: unknown } = {
  "Project.spec.owner": { user: "admin" },
  "Project.spec.members": [
    { kind: "User", group: "storage.loft.sh", name: "admin", clusterRole: "loft:project-admin" },
  ],
  "Project.spec.allowedClusters": [{ name: "embedded" }],
  "User.spec.subject": "full",
  "User.spec.groups": ["loft:admins"],
  "Cluster.spec.networkPeer": false,
  "Cluster.spec.local": false,
  "VirtualClusterInstance.spec.clusterRef": { cluster: "embedded", namespace: "p-default", virtualCluster: "full" },
  "VirtualClusterInstance.spec.networkPeer": false,
  "VirtualClusterInstance.spec.external": false,
  "VirtualClusterInstance.spec.standalone": false,
  "SpaceInstance.spec.clusterRef": { cluster: "embedded", namespace: "full" },
};
const TEXTS: { readonly [member: string]: string } = {
  forwardTokenMode: "Off",
  objects: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: full\n",
  user: "admin",
  clusterRole: "view",
  defaultClusterRole: "view",
};

function sampleOf(fields: Fields, place: string): unknown {
  if (Object.hasOwn(VALUES, place)) return VALUES[place];
  if (Array.isArray(fields)) {
    const member = place.slice(place.lastIndexOf(".") + 1);
    if (member === "users") return ["admin"];
    if (member === "teams") return [];
    if (member === "verbs") return ["get"];
    return [sampleOf(fields[0] ?? "string", place)];
  }
  if (typeof fields === "object") {
    return Object.fromEntries(
      Object.entries(fields).map(([name, below]) => [name === "*" ? "any" : name, sampleOf(below, `${place}.${name}`)]),
    );
  }
  const samples: { readonly [type: string]: unknown } = {
    boolean: true,
    integer: 1,
    number: 1,
    time: "2030-01-01T00:00:00Z",
    bytes: "YQ==",
    any: { a: "b" },
  };
  return samples[fields] ?? TEXTS[place.slice(place.lastIndexOf(".") + 1)] ?? "text";
}

describe("a manifest with every field that the original has", () => {
  it.each([
    ["User", "users"],
    ["Team", "teams"],
    ["Project", "projects"],
    ["Cluster", "clusters"],
    ["VirtualClusterInstance", INSTANCES],
    ["SpaceInstance", "namespaces/p-default/spaceinstances"],
    ["ProjectSecret", "namespaces/p-default/projectsecrets"],
    ["SharedSecret", "namespaces/default/sharedsecrets"],
  ])("%s applies without a warning, and is kept", async (kind, path) => {
    const fields: { readonly [kind: string]: { readonly spec?: Fields } } = original.kinds;
    const spec = sampleOf(fields[kind]?.spec ?? {}, `${kind}.spec`);
    const body = { apiVersion: GROUP, kind, metadata: { name: "full" }, spec };
    for (const type of ["application/apply-patch+yaml", "application/merge-patch+json"]) {
      const query = `fieldValidation=Strict&fieldManager=${type.includes("apply") ? "gitops" : "kubectl"}`;
      const applied = await ask(`${path}/full?${query}`, { method: "PATCH", body, headers: { "content-type": type } });
      expect([200, 201], applied.text).toContain(applied.status);
      // The names in the sample are of nothing that is here.
      expect(applied.headers["warning"] ?? "there is no").toMatch(/^(299 - )?"?.*there is no/);
      expect((await ok(`${path}/full`)).spec).toMatchObject(spec as object);
    }
  });
});
