// A kubeconfig generator gives its creator's access on: attempts to get more from it than the creator has, to take it over, or to keep what it gave.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type AttackedServer, MERGE, startAttacked } from "./testing/attacking.ts";
import { DEV, GENERATORS, type Generating, generatingOn, inside, SECRETS, SPACE, WAIT } from "./testing/generating.ts";

const INSTANCES = `namespaces/${SPACE}/virtualclusterinstances`;
const ADMIN = "postern:project-admin";

let server: AttackedServer;
let on: Generating;
/** Project administrators. */
let [ann, bob] = ["", ""];

beforeAll(async () => {
  server = await startAttacked();
  on = generatingOn(server);
  ann = await server.user("ann");
  bob = await server.user("bob");
  await server.must({
    path: "projects",
    body: { metadata: { name: "shop" }, spec: { allowedClusters: [{ name: "embedded" }], ...members("ann", "bob") } },
  });
  for (const [name, env] of [
    ["prod", "prod"],
    ["dev", "dev"],
    ["test", "dev"],
  ] as const)
    await server.must({
      path: INSTANCES,
      body: { metadata: { name, labels: { env } }, spec: { owner: { user: "admin" } } },
    });
});
afterAll(() => server[Symbol.asyncDispose]());

const members = (...names: string[]) => ({
  members: names.map((name) => ({ kind: "User", name, clusterRole: ADMIN })),
});

describe("what a generator gives", () => {
  test("one key for each selected virtual cluster, which opens that one alone", async () => {
    await on.generated(ann, "fleet");
    await on.until("fleet", "Current");
    const [dev = "", testing = "", more] = await on.tokensOf("fleet");
    expect(more).toBeUndefined();
    expect(await on.statusOf(dev, inside("dev"))).toBe(200);
    for (const cluster of ["test", "prod"]) expect(await on.statusOf(dev, inside(cluster))).toBe(401);
    expect(await on.statusOf(testing, inside("test"))).toBe(200);
    // Neither makes further credentials, nor reads the Secrets of the project.
    expect(await on.statusOf(dev, `${INSTANCES}/test/kubeconfig`, { spec: {} })).toBe(403);
    expect(await on.statusOf(dev, SECRETS)).toBe(403);
  });

  test("the role view reads and sees no Secret", async () => {
    await on.generated(ann, "readers", { role: "view" });
    await on.until("readers", "Current");
    const [dev = ""] = await on.tokensOf("readers");
    expect(await on.statusOf(dev, inside("dev", "api/v1/namespaces/default/configmaps"))).toBe(200);
    expect(await on.statusOf(dev, inside("dev", "api/v1/namespaces/default/secrets"))).toBe(403);
    expect(await on.statusOf(dev, inside("dev"), { metadata: { name: "x" } })).toBe(403);
  });

  test("a selected virtual cluster that comes is added, and the key of one that leaves is refused", async () => {
    await on.generated(ann, "moving", { selector: { matchLabels: { moving: "yes" } } });
    await on.until("moving", "Current");
    expect(await on.tokensOf("moving")).toEqual([]);
    const label = (moving: string | null) =>
      server.must({
        method: "PATCH",
        path: `${INSTANCES}/dev`,
        headers: MERGE,
        body: { metadata: { labels: { moving } } },
      });
    await label("yes");
    await vi.waitFor(async () => expect(await on.tokensOf("moving")).toHaveLength(1), WAIT);
    const [token = ""] = await on.tokensOf("moving");
    expect(await on.statusOf(token, inside("dev"))).toBe(200);
    await label(null);
    await vi.waitFor(async () => expect(await on.tokensOf("moving")).toEqual([]), WAIT);
    await vi.waitFor(async () => expect(await on.statusOf(token, inside("dev"))).toBe(401), WAIT);
  });

  test("cluster Secrets of Argo CD, and Secrets of Flux, one for each virtual cluster", async () => {
    await on.generated(ann, "argo", { format: "ArgoCD" });
    await on.generated(ann, "flux", { format: "Flux" });
    await on.until("argo", "Current");
    await on.until("flux", "Current");
    const { metadata, data } = await server.must({ path: `${SECRETS}/argo-dev` });
    expect(metadata.labels).toEqual({ "argocd.argoproj.io/secret-type": "cluster" });
    const text = (key: string): string => Buffer.from(data[key], "base64").toString();
    expect([text("name"), text("server")]).toEqual([
      "shop-dev",
      `${server.process.url}${inside("dev", "").slice(0, -1)}`,
    ]);
    const config = JSON.parse(text("config"));
    expect(config.tlsClientConfig).toEqual({ insecure: false, caData: expect.any(String) });
    expect(await on.statusOf(config.bearerToken, inside("dev"))).toBe(200);
    expect(await on.textOf("flux-test", "value")).toContain("current-context: shop-test");
  });
});

describe("labels and annotations of the Secrets", () => {
  const ARGO = "argocd.argoproj.io/secret-type";
  const patch = (path: string, metadata: object) =>
    server.must({ method: "PATCH", path, headers: MERGE, body: { metadata } });
  const metadataOf = async (secret: string) => (await server.must({ path: `${SECRETS}/${secret}` })).metadata;
  /** As the generator of ApplicationSets selects clusters. */
  const selectedBy = async (labels: string): Promise<readonly string[]> => {
    const selector = encodeURIComponent(`${ARGO}=cluster,${labels}`);
    const { items } = await server.must({ path: `${SECRETS}?labelSelector=${selector}` });
    return items.map(({ metadata }: any) => metadata.name);
  };

  test("follow the virtual cluster in the keys that the creator chose, and the template", async () => {
    const template = { labels: { team: "shop", [ARGO]: "repository" }, annotations: { "example.com/owner": "ann" } };
    await on.generated(ann, "labelled", {
      format: "ArgoCD",
      secretTemplate: { ...template, copyLabels: ["env", "region"] },
    });
    await on.until("labelled", "Current");
    expect(await selectedBy("env=dev,team=shop")).toEqual(["labelled-dev", "labelled-test"]);
    expect(await metadataOf("labelled-dev")).toMatchObject({
      // The label of the format wins.
      labels: { [ARGO]: "cluster", env: "dev", team: "shop" },
      annotations: { "example.com/owner": "ann" },
    });
    // A tenant that may label its virtual cluster chooses the values of these keys, and no others.
    const tenant = { region: "eu", team: "other", [ARGO]: "repo-creds" };
    await patch(`${INSTANCES}/dev`, { labels: tenant });
    await vi.waitFor(async () => expect(await selectedBy("region=eu")).toEqual(["labelled-dev"]), WAIT);
    expect((await metadataOf("labelled-dev")).labels).toEqual({
      ...{ [ARGO]: "cluster", env: "dev", team: "shop", region: "eu" },
    });
    const before = await on.textOf("labelled-dev");

    // Labels of others stay, and those that are not wanted any more go.
    await patch(`${SECRETS}/labelled-dev`, { labels: { mine: "yes" }, annotations: { "example.com/mine": "yes" } });
    await patch(`${INSTANCES}/dev`, { labels: { region: null, team: null, [ARGO]: null } });
    await vi.waitFor(async () => expect(await selectedBy("region")).toEqual([]), WAIT);
    const change = { secretTemplate: { labels: null, annotations: null, copyLabels: null } };
    expect((await on.change(ann, "labelled", change)).status).toBe(200);
    await vi.waitFor(async () => {
      const { labels, annotations } = await metadataOf("labelled-dev");
      expect([labels, annotations]).toEqual([{ [ARGO]: "cluster", mine: "yes" }, { "example.com/mine": "yes" }]);
    }, WAIT);
    const argoCD = { project: "shop", namespaces: ["web", "api"], clusterResources: true };
    expect((await on.change(ann, "labelled", { argoCD })).status).toBe(200);
    await vi.waitFor(async () => expect(await on.textOf("labelled-dev", "namespaces")).toBe("web,api"), WAIT);
    expect(await on.textOf("labelled-dev", "project")).toBe("shop");
    // None of it replaced a credential.
    expect(await on.textOf("labelled-dev")).toBe(before);
  });

  test("make a Secret that programs for many clusters find, with a kubeconfig as the key that they read", async () => {
    const labels = { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" };
    const secretRef = { name: "many", key: "kubeconfig" };
    await on.generated(ann, "many", { format: "Flux", secretRef, secretTemplate: { labels } });
    await on.until("many", "Current");
    expect((await metadataOf("many-dev")).labels).toEqual(labels);
    const [, token = ""] = /token: (\S+)/.exec(await on.textOf("many-dev", "kubeconfig")) ?? [];
    expect(await on.statusOf(token, inside("dev"))).toBe(200);
  });

  test("are changed by the creator alone", async () => {
    const answer = await on.change(bob, "many", { secretTemplate: { copyLabels: ["env"] } });
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("who alone may change its spec")]);
  });

  test.each<[object, string]>([
    [{ secretTemplate: { copyLabels: ["env"] } }, "spec.secretTemplate.copyLabels"],
    [{ format: "Flux", argoCD: { project: "shop" } }, "spec.argoCD"],
    [{ format: "ArgoCD", argoCD: { project: "Shop" } }, "spec.argoCD.project"],
    [{ format: "ArgoCD", argoCD: { namespaces: ["web,api"] } }, "spec.argoCD.namespaces[0]"],
    [{ format: "Flux", secretTemplate: { copyLabels: ["a b"] } }, "spec.secretTemplate.copyLabels[0]"],
    [{ format: "Flux", secretTemplate: { copyLabels: ["a", "a"] } }, "Duplicate value"],
    [{ secretTemplate: { labels: { a: "b c" } } }, "spec.secretTemplate.labels"],
    [{ secretTemplate: { annotations: { "a b": "" } } }, "spec.secretTemplate.annotations"],
    [{ secretTemplate: { annotations: { a: "x".repeat(16_384) } } }, "spec.secretTemplate: Too long"],
    [{ format: "ArgoCD", secretRef: { name: "bad", key: "x" } }, "spec.secretRef.key"],
  ])("are refused as %j", async (spec, field) => {
    const answer = await on.generate(ann, "bad", spec);
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(field)]);
  });
});

describe("the record of what a generator gave", () => {
  /** Records of kubeconfigs that were made for the generator. */
  async function recordsOf(name: string): Promise<readonly any[]> {
    const { accessKey } = (await on.stateOf(name)).status;
    return (await server.must({ path: `/audit/events?key=${accessKey}&verb=create` })).items;
  }

  test("the audit log has each credential: its creator, the generator's key, and the virtual cluster", async () => {
    await on.generated(ann, "recorded");
    await on.until("recorded", "Current");
    await vi.waitFor(async () => expect(await recordsOf("recorded")).toHaveLength(2), WAIT);
    const records = await recordsOf("recorded");
    for (const record of records) expect(record).toMatchObject({ user: "ann", code: 201, sourceIP: "" });
    const objects = records.map(({ object }) => object).sort();
    expect(objects).toEqual(
      ["dev", "test"].map((name) => `virtualclusterinstances.management.postern/${name}/kubeconfig -n ${SPACE}`),
    );
    const log = await readFile(join(server.directory, "audit.log"), "utf8");
    const lines = log.split("\n").filter((line) => line.includes(`"kubeconfig-generator/name":"${SPACE}/recorded"`));
    const ids = lines.map((line) => JSON.parse(line).annotations["authentication.kubernetes.io/issued-credential-id"]);
    // Requests with the tokens name the same credentials.
    const [dev = "", testing = ""] = await on.tokensOf("recorded");
    expect([await on.statusOf(dev, inside("dev")), await on.statusOf(testing, inside("test"))]).toEqual([200, 200]);
    const { clusters } = (await on.stateOf("recorded")).status;
    const usedBy = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      // One search at a time.
      for (const { accessKey } of clusters) {
        const { items } = await server.must({ path: `/audit/events?key=${accessKey}&verb=list` });
        found.push(items[0]?.keyID ?? "");
      }
      return found.sort();
    };
    await vi.waitFor(async () => expect(await usedBy()).toEqual(ids.sort()), WAIT);
    for (const token of await on.tokensOf("recorded")) expect(log).not.toContain(token);
  });

  test("the audit log has each Secret and each key that the generator deletes, once", async () => {
    await on.generated(ann, "narrowed", { format: "Flux" });
    await on.until("narrowed", "Current");
    const { clusters } = (await on.stateOf("narrowed")).status;
    await on.change(ann, "narrowed", { selector: { matchLabels: { env: "none" } } });
    const paths = clusters.flatMap(({ accessKey, secret }: { accessKey: string; secret: string }) => [
      `${SECRETS}/${secret}`,
      `/apis/management.postern/v1/ownedaccesskeys/${accessKey}`,
    ]);
    const deleted = async (): Promise<readonly string[]> => {
      const lines = (await readFile(join(server.directory, "audit.log"), "utf8")).split("\n").slice(0, -1);
      const events = lines.map((line) => JSON.parse(line)).filter(({ verb }) => verb === "delete");
      return events.map(({ requestURI }) => requestURI).filter((path) => paths.includes(path));
    };
    await vi.waitFor(async () => expect((await deleted()).toSorted()).toEqual(paths.toSorted()), WAIT);
    expect(paths).toHaveLength(4);
  });
});

describe("a rotation of the CA of the platform", () => {
  test("is in the Secrets at once, and changes no credential", async () => {
    await on.generated(ann, "rotated", { format: "Flux" });
    await on.until("rotated", "Current");
    const authority = async (): Promise<string> => {
      const [, data = ""] = /certificate-authority-data: (\S+)/.exec(await on.textOf("rotated-dev", "value")) ?? [];
      return Buffer.from(data, "base64").toString();
    };
    const [, token] = /token: (\S+)/.exec(await on.textOf("rotated-dev", "value")) ?? [];
    const before = await authority();
    const { bundle } = await server.must({ path: "/certificateauthority", body: { action: "Prepare" } });
    expect(bundle).toContain(before);
    await vi.waitFor(async () => expect(await authority()).toBe(bundle), WAIT);
    await server.must({ path: "/certificateauthority", body: { action: "Abort" } });
    await vi.waitFor(async () => expect(await authority()).toBe(before), WAIT);
    expect(await on.textOf("rotated-dev", "value")).toContain(`token: ${token}`);
  });
});

describe("more than its creator has", () => {
  test("who may write generators, and reads no Secrets, gets none written", async () => {
    const carl = await server.user("carl");
    await server.grant("writes-generators", "carl", [
      { verbs: ["*"], apiGroups: ["management.postern"], resources: ["kubeconfiggenerators"] },
    ]);
    const answer = await on.generate(carl, "carls");
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("you may not create secrets");
  });

  test("who may write generators and Secrets, and opens no virtual cluster, gets no credential", async () => {
    const dora = await server.user("dora");
    await server.grant("writes-both", "dora", [
      { verbs: ["*"], apiGroups: ["management.postern"], resources: ["kubeconfiggenerators"] },
      { verbs: ["*"], apiGroups: [""], resources: ["secrets"] },
    ]);
    await on.generated(dora, "doras");
    await on.until("doras", "Forbidden");
    expect(await on.tokensOf("doras")).toEqual([]);
  });

  test("only the creator changes what a generator gives; others may delete it", async () => {
    await on.generated(ann, "anns");
    await on.until("anns", "Current");
    const wider = { selector: { matchLabels: { env: "prod" } } };
    for (const spec of [wider, { role: "view" }, { ttlSeconds: 7200 }]) {
      const answer = await on.change(bob, "anns", spec);
      expect(answer.status).toBe(403);
      expect(answer.text).toContain("who alone may change its spec");
    }
    expect((await on.change(server.admin, "anns", wider)).status).toBe(403);
    // Its status says with which key credentials are made.
    const { body: key } = await server.send({ path: "ownedaccesskeys", as: bob, body: { metadata: {}, spec: {} } });
    const status = { accessKey: key.metadata.name, creator: { kind: "user", name: "bob" } };
    for (const path of [`${GENERATORS}/anns`, `${GENERATORS}/anns/status`])
      await server.send({ method: "PATCH", path, as: bob, headers: MERGE, body: { status } });
    expect((await on.stateOf("anns")).status).toMatchObject({ creator: { name: "ann" } });
    expect((await on.stateOf("anns")).status.accessKey).not.toBe(key.metadata.name);
    expect((await server.send({ method: "DELETE", path: `${GENERATORS}/anns`, as: bob })).status).toBe(200);
  });

  test("a generator cannot be written in the name of another user", async () => {
    const answer = await server.send({
      path: GENERATORS,
      headers: { "impersonate-user": "ann", "impersonate-group": "postern:user:ann" },
      body: { metadata: { name: "faked" }, spec: { selector: {}, secretRef: { name: "faked" } } },
    });
    expect(answer.status).toBe(403);
  });

  test("a narrow key of the creator gives no more than itself, also by a change of a wide generator", async () => {
    const narrow = await server.key("ann-dev", {
      user: "ann",
      scope: {
        projects: [{ project: "shop" }],
        rules: [
          { verbs: ["*"], resources: [{ group: "management.postern", resources: ["kubeconfiggenerators"] }] },
          { verbs: ["*"], resources: [{ group: "", resources: ["secrets"] }] },
        ],
      },
    });
    await on.generated(ann, "wide");
    await on.until("wide", "Current");
    const [before = ""] = await on.tokensOf("wide");
    const changed = await on.change(narrow, "wide", { selector: { matchLabels: { env: "prod" } } });
    expect(changed.status, changed.text).toBe(200);
    await on.until("wide", "Forbidden");
    expect(await on.tokensOf("wide")).toEqual([]);
    expect(await on.statusOf(before, inside("dev"))).toBe(401);
  });

  test("an existing Secret is neither read nor replaced", async () => {
    await server.must({ path: SECRETS, body: { metadata: { name: "taken" }, data: { config: "MQ==" } } });
    await on.generated(ann, "taken");
    await on.until("taken", "SecretNotOwned");
    expect(await on.textOf("taken")).toBe("1");
  });

  test("tokens that others put into the Secret are neither kept nor spread", async () => {
    await on.generated(ann, "planted");
    await on.until("planted", "Current");
    const own = (await server.must({ path: `${INSTANCES}/dev/kubeconfig`, body: { spec: {} } })).status.kubeConfig;
    const data = { config: Buffer.from(own).toString("base64") };
    const [planted = ""] = /token: (\S+)/.exec(own)?.slice(1) ?? [];
    const { uid } = await server
      .must({
        path: `ownedaccesskeys/${(await on.stateOf("planted")).status.accessKey}`,
      })
      .then(({ metadata }) => metadata);
    for (let round = 0; round < 4; round++) {
      await server.must({ method: "PATCH", path: `${SECRETS}/planted`, headers: MERGE, body: { data } });
      await vi.waitFor(async () => expect(await on.tokensOf("planted")).toHaveLength(2), WAIT);
      expect(await on.textOf("planted")).not.toContain(planted);
    }
    // Of each virtual cluster, there are the present key and the one before.
    await vi.waitFor(async () => {
      const { items } = await server.must({ path: "ownedaccesskeys", as: ann });
      const made = items.filter(({ metadata }: any) =>
        metadata.ownerReferences?.some((owner: any) => owner.uid === uid),
      );
      expect(made).toHaveLength(4);
    }, WAIT);
  });
});

describe("limits that meet in a generator", () => {
  const from = async (as: string, address: string): Promise<number> =>
    (await server.send({ path: inside("dev"), as, from: address })).status;

  test("networks of the project and of the key that wrote it bound each credential", async () => {
    const near = await server.key("ann-near", { user: "ann", allowedSourceRanges: ["127.0.0.0/30"] });
    await on.generated(near, "near");
    await on.until("near", "Current");
    const [token = ""] = await on.tokensOf("near");
    expect([await from(token, "127.0.0.1"), await from(token, "127.0.0.9")]).toEqual([200, 401]);
    const bound = (allowedSourceRanges: readonly string[] | null) =>
      server.must({ method: "PATCH", path: "projects/shop", headers: MERGE, body: { spec: { allowedSourceRanges } } });
    await bound(["127.0.0.2/32"]);
    expect([await from(token, "127.0.0.1"), await from(token, "127.0.0.2")]).toEqual([403, 200]);
    // Its controller is in no network: it goes on.
    await on.until("near", "Current");
    await bound(null);
    expect(await from(token, "127.0.0.1")).toBe(200);
  });

  test("spec.maxUses on its access key ends what it gives, since that would be used more often", async () => {
    await on.generated(ann, "counted");
    await on.until("counted", "Current");
    const [token = ""] = await on.tokensOf("counted");
    const { accessKey } = (await on.stateOf("counted")).status;
    const limit = (maxUses: number | null) =>
      server.must({
        method: "PATCH",
        path: `ownedaccesskeys/${accessKey}`,
        headers: MERGE,
        body: { spec: { maxUses } },
      });
    await limit(1);
    await on.until("counted", "Forbidden");
    expect(await on.tokensOf("counted")).toEqual([]);
    expect(await from(token, "127.0.0.1")).toBe(401);
    await limit(null);
    await on.until("counted", "Current");
  });

  test("it is neither wrapped, nor leaves a key behind in a dry run", async () => {
    const keys = async (): Promise<number> => (await server.must({ path: "ownedaccesskeys", as: ann })).items.length;
    const before = await keys();
    for (const [query, status] of [
      ["wrap=5m", 400],
      ["dryRun=All", 201],
    ] as const) {
      const body = { metadata: { name: "tried" }, spec: { selector: DEV, secretRef: { name: "tried" } } };
      expect((await server.send({ path: `${GENERATORS}?${query}`, as: ann, body })).status).toBe(status);
    }
    expect(await keys()).toBe(before);
    expect((await server.send({ path: `${GENERATORS}/tried` })).status).toBe(404);
  });
});

describe("the end of a generator", () => {
  test("its access key revokes all that it gave, at once", async () => {
    await on.generated(ann, "revoked");
    await on.until("revoked", "Current");
    const [token = ""] = await on.tokensOf("revoked");
    expect(await on.statusOf(token, inside("dev"))).toBe(200);
    const { accessKey } = (await on.stateOf("revoked")).status;
    await server.must({ method: "DELETE", path: `ownedaccesskeys/${accessKey}`, as: ann });
    expect(await on.statusOf(token, inside("dev"))).toBe(401);
    await on.until("revoked", "AccessKeyGone");
    // A change of its spec makes another.
    expect((await on.change(ann, "revoked", { ttlSeconds: 7_200 })).status).toBe(200);
    await on.until("revoked", "Current");
    const [next = ""] = await on.tokensOf("revoked");
    expect(await on.statusOf(next, inside("dev"))).toBe(200);
  });

  test("a deleted generator leaves neither Secrets nor credentials", async () => {
    await on.generated(ann, "gone", { format: "Flux" });
    await on.until("gone", "Current");
    const [, token = ""] = /token: (\S+)/.exec(await on.textOf("gone-dev", "value")) ?? [];
    await server.must({ method: "DELETE", path: `${GENERATORS}/gone`, as: ann });
    await vi.waitFor(async () => {
      expect((await server.send({ path: `${GENERATORS}/gone` })).status).toBe(404);
      expect((await server.send({ path: `${SECRETS}/gone-dev` })).status).toBe(404);
    }, WAIT);
    expect(await on.statusOf(token, inside("dev"))).toBe(401);
  });

  test("a creator that leaves the project takes its access with it, and one that is deleted all of it", async () => {
    const eve = await server.user("eve");
    const project = (spec: object) =>
      server.must({ method: "PATCH", path: "projects/shop", headers: MERGE, body: { spec } });
    await project(members("ann", "bob", "eve"));
    await vi.waitFor(async () => expect((await on.generate(eve, "eves")).status).toBe(201), WAIT);
    await on.until("eves", "Current");
    const [token = ""] = await on.tokensOf("eves");
    expect(await on.statusOf(token, inside("dev"))).toBe(200);
    await project(members("ann", "bob"));
    await vi.waitFor(async () => expect(await on.statusOf(token, inside("dev"))).toBe(403), WAIT);
    await on.until("eves", "SecretsForbidden");
    await server.must({ method: "DELETE", path: "users/eve" });
    expect(await on.statusOf(token, inside("dev"))).toBe(401);
    // Another user of that name is not the creator.
    await server.must({ path: "users", body: { metadata: { name: "eve" } } });
    await project(members("ann", "bob", "eve"));
    expect(await on.statusOf(token, inside("dev"))).toBe(401);
    await vi.waitFor(
      async () => expect(["AccessKeyGone", "AccessKeyRefused", "CreatorGone"]).toContain(await on.reason("eves")),
      WAIT,
    );
  });

  test("access that was granted for a time makes no generator that lasts", async () => {
    const fred = await server.user("fred");
    await server.must({
      path: "clusteraccesspolicies",
      body: {
        metadata: { name: "admins" },
        spec: {
          requesters: { users: ["fred"] },
          autoApprove: "true",
          maxDurationSeconds: 600,
          targets: [{ kind: "Project", projects: ["shop"], roles: [ADMIN] }],
        },
      },
    });
    await server.must({
      path: "accessrequests",
      as: fred,
      body: { metadata: {}, spec: { policy: { name: "admins" }, target: { project: "shop" }, role: ADMIN } },
    });
    await vi.waitFor(async () => expect(await on.statusOf(fred, SECRETS)).toBe(200), WAIT);
    const answer = await on.generate(fred, "freds");
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("you may not create secrets");
  });
});
