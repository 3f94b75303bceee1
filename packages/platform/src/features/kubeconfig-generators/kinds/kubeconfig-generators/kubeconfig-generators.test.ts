// Kubeconfig generators over time and in numbers: the whole platform with its controllers, on a store in memory and a clock that can be moved on.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControllerAudit } from "@postern/apiserver/chain/controller-audit";
import { CONTROLLER_WRITE } from "@postern/apiserver/controllers/controller-port";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { afterEach, expect, test, vi } from "vitest";
import { composePlatform, type Platform } from "../../../../server/compose.ts";
import { platformParts } from "../../../../testing/platform-parts.ts";
import { accessKeyIdentity } from "../../../access-keys/access-key-identity.ts";
import { KEYS_AT_ONCE, MAX_CLUSTERS } from "../../generator-limits.ts";

const HOUR_MS = 3_600_000;
const WAIT = { timeout: 20_000, interval: 10 };
const SPACE = "p-shop";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

type World = {
  readonly platform: Platform;
  /** Moves the time of day on. */
  later(ms: number): void;
  create(kind: string, object: object, group?: string): Promise<any>;
  /** As the user ann. */
  generate(spec?: object): Promise<void>;
  state(): KubeconfigGenerator;
  tokens(): readonly string[];
  /** Has the controller look again. */
  touch(): Promise<void>;
  /** Paths of what was deleted with a record in the audit log. */
  readonly recorded: readonly string[];
  /** Why a token is refused; undefined if it is accepted. */
  refusal(token: string): string | undefined;
};

async function world({ authority, member = true }: { authority?: string; member?: boolean } = {}): Promise<World> {
  const teardown = createTeardown();
  open.push({ [Symbol.asyncDispose]: () => teardown.run() });
  let offset = 0;
  const { clock, scheduler } = systemRuntime;
  const runtime: Runtime = { ...systemRuntime, clock: { now: () => clock.now() + offset, elapsed: clock.elapsed } };
  const storage = teardown.use(createMemoryStorage());
  const cache = teardown.use(createWatchCache({ storage, prefix: "/registry/", scheduler }));
  await cache.ready();
  const lifetime = new AbortController();
  const errors: unknown[] = [];
  const recorded: string[] = [];
  const controllerAudit: ControllerAudit = async (context, { requestUri }, work) => {
    const result = await work(context);
    if (context.info.verb === "delete") recorded.push(requestUri);
    return result;
  };
  const platform = await composePlatform(
    platformParts({
      storage,
      cache,
      runtime,
      signal: lifetime.signal,
      onError: (error) => void errors.push(error),
      controllerAudit,
      endpoint: { url: () => "https://platform.test", isOwnName: () => false, certificateAuthorityPem: authority },
    }),
    teardown,
  );
  teardown.defer(() => lifetime.abort());
  for (const controller of platform.startControllers(runtime)) teardown.use(controller);

  const { base, directory, keys } = platform;
  const resourceOf = (kind: string, group?: string) =>
    group === undefined ? base.own(kind) : base.installed(group, kind);
  const create: World["create"] = async (kind, object, group) => {
    const resource = resourceOf(kind, group);
    const { namespace = "" } = (object as KubeObject).metadata;
    const { group: apiGroup, version } = resource.definition;
    const whole = { apiVersion: apiGroup === "" ? version : `${apiGroup}/${version}`, kind, ...object } as KubeObject;
    const url = `/apis/${apiGroup}/${version}/${resource.definition.plural}`;
    const made = await resource.genericStore.create(
      createTestContext({ method: "POST", url }),
      namespace,
      whole,
      CONTROLLER_WRITE,
    );
    return made.decode();
  };
  await create("User", { metadata: { name: "ann" } });
  const members = member ? [{ kind: "User", name: "ann", clusterRole: "postern:project-admin" }] : [];
  await create("Project", { metadata: { name: "shop" }, spec: { members, allowedClusters: [{ name: "*" }] } });
  const admin = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  await create("ClusterRole", { metadata: { name: "postern:project-admin" }, rules: [admin] }, RBAC);
  await create("ClusterRole", { metadata: { name: "secrets" }, rules: [{ ...admin, resources: ["secrets"] }] }, RBAC);
  await create(
    "ClusterRoleBinding",
    {
      metadata: { name: "secrets" },
      subjects: [{ kind: "User", apiGroup: RBAC, name: "ann" }],
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "secrets" },
    },
    RBAC,
  );
  const { metadata } = await create("OwnedAccessKey", { metadata: { name: "ann-key" }, spec: { user: "ann" } });

  const generators = base.own("KubeconfigGenerator");
  const secrets = base.installed("", "Secret");
  const state = (): KubeconfigGenerator =>
    generators.view.get(generators.keys.of(SPACE, "fleet"))?.decode() as KubeconfigGenerator;
  const text = (): string => {
    const found = secrets.view.get(secrets.keys.of(SPACE, "fleet"))?.decode() as any;
    return Buffer.from(found?.data?.config ?? "", "base64").toString();
  };
  return {
    platform,
    later: (ms) => {
      offset += ms;
    },
    create,
    async generate(spec = {}) {
      const key = keys.index.byUid(metadata.uid);
      if (key === undefined) throw new Error("the key is not there");
      const context = createTestContext({
        method: "POST",
        url: `/apis/management.postern/v1/namespaces/${SPACE}/kubeconfiggenerators`,
        user: accessKeyIdentity(key, { directory, names: base.names }),
      }).with({ credential: { id: key.id } });
      const object = {
        apiVersion: "management.postern/v1",
        kind: "KubeconfigGenerator",
        metadata: { name: "fleet", namespace: SPACE },
        spec: { selector: {}, secretRef: { name: "fleet" }, ...spec },
      };
      await generators.genericStore.create(context, SPACE, object, CONTROLLER_WRITE);
    },
    state,
    recorded,
    tokens: () => keys.secrets.format.all(text()),
    async touch() {
      const context = createTestContext({ method: "PUT", url: `/apis/x/v1/${offset}` });
      const transform = (current: KubeObject): KubeObject => ({
        ...current,
        metadata: { ...current.metadata, labels: { at: String(offset) } },
      });
      await generators.genericStore.update(context, SPACE, "fleet", { transform, subresource: "" }, CONTROLLER_WRITE);
    },
    refusal(token) {
      const key = keys.index.find(token);
      return key === undefined ? "unknown" : keys.index.stateOf(key)?.reason;
    },
  };
}

const RBAC = "rbac.authorization.k8s.io";

async function withClusters({ create }: World, count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await create("VirtualClusterInstance", {
      metadata: { name: `c${String(index).padStart(4, "0")}`, namespace: SPACE },
      spec: { external: true, owner: { user: "admin" } },
    });
}

const readyOf = ({ status }: KubeconfigGenerator) => status?.conditions?.find(({ type }) => type === "Ready");
const until = (of: World, reason: string, within = WAIT): Promise<void> =>
  vi.waitFor(() => expect(readyOf(of.state())).toMatchObject({ reason }), within);

test("a key is replaced before it ends, and its predecessor is revoked after readers have seen the new one", async () => {
  const of = await world();
  await withClusters(of, 2);
  await of.generate({ ttlSeconds: 86_400 });
  await until(of, "Current");
  const first = of.tokens();
  expect(first).toHaveLength(2);
  const { index } = of.platform.keys;
  const paths = first.map((token) => `/apis/management.postern/v1/ownedaccesskeys/${index.find(token)?.name}`);
  of.later(15 * HOUR_MS);
  await of.touch();
  await until(of, "Current");
  expect(of.tokens()).toEqual(first);
  of.later(2 * HOUR_MS);
  await of.touch();
  await vi.waitFor(() => expect(of.tokens()).not.toEqual(first), WAIT);
  const second = of.tokens();
  expect(second).toHaveLength(2);
  for (const token of [...first, ...second]) expect(of.refusal(token)).toBeUndefined();
  of.later(5 * HOUR_MS);
  await of.touch();
  await vi.waitFor(() => expect(first.map(of.refusal)).toEqual(["unknown", "unknown"]), WAIT);
  expect(of.tokens()).toEqual(second);
  for (const token of second) expect(of.refusal(token)).toBeUndefined();
  await expect.poll(() => of.recorded.toSorted()).toEqual(paths.toSorted());
});

test("many keys are made in steps, each of which is in the Secret before the next", async () => {
  const of = await world();
  await withClusters(of, 2 * KEYS_AT_ONCE + 5);
  const secrets = of.platform.base.installed("", "Secret");
  const sizes: number[] = [];
  const note = (): void => void sizes.push(of.tokens().length);
  using _ = followView({ view: secrets.view, prefix: secrets.keys.prefix }, systemRuntime.scheduler, {
    replace: note,
    put: note,
    delete: note,
  });
  await of.generate();
  await until(of, "Current");
  expect([...new Set(sizes)]).toEqual([0, KEYS_AT_ONCE, 2 * KEYS_AT_ONCE, 2 * KEYS_AT_ONCE + 5]);
  expect(of.state().status).toMatchObject({ selected: 55, ready: 55 });
});

test("a kubeconfig that no Secret has room for is cut at a virtual cluster, and the condition says so", async () => {
  const of = await world({
    authority: `-----BEGIN CERTIFICATE-----\n${"a".repeat(30_000)}\n-----END CERTIFICATE-----\n`,
  });
  await withClusters(of, 30);
  await of.generate();
  await until(of, "SecretTooLarge");
  const { clusters = [], ready = 0 } = of.state().status ?? {};
  await vi.waitFor(() => expect(of.state().status?.ready).toBeGreaterThan(20), WAIT);
  expect(of.tokens()).toHaveLength(of.state().status?.ready ?? ready);
  expect(clusters.at(-1)?.conditions?.[0]).toMatchObject({ status: "False", reason: "SecretFull" });
  expect(readyOf(of.state())?.message).toContain("narrow spec.selector, or choose a format");
});

test("more virtual clusters than a generator may have are named in its condition, without a key for those that its creator cannot open", async () => {
  const of = await world({ member: false });
  await withClusters(of, MAX_CLUSTERS + 1);
  await of.generate();
  await until(of, "TooManyVirtualClusters", { ...WAIT, timeout: 60_000 });
  const { clusters = [], selected } = of.state().status ?? {};
  expect([clusters.length, selected]).toEqual([MAX_CLUSTERS, MAX_CLUSTERS + 1]);
  expect(clusters[0]?.conditions?.[0]).toMatchObject({ status: "False", reason: "Forbidden" });
  expect(of.platform.keys.index.ownedBy({ kind: "user", name: "ann" })).toHaveLength(2);
});

test("a Secret that cannot be written leaves no keys behind, however often it is tried", async () => {
  const of = await world();
  await withClusters(of, 3);
  const { genericStore } = of.platform.base.installed("", "Secret");
  const refused = new ApiError({ code: 403, reason: "Forbidden", message: "the project has no room" });
  const write = vi.spyOn(genericStore, "create").mockRejectedValue(refused);
  await of.generate();
  await vi.waitFor(() => expect(write.mock.calls.length).toBeGreaterThan(3), WAIT);
  // That of the user, that of the generator, and those of one try.
  expect(of.platform.keys.index.ownedBy({ kind: "user", name: "ann" }).length).toBeLessThanOrEqual(5);
  write.mockRestore();
  await until(of, "Current");
});

test("tables show the format, also where the generator names none", async () => {
  const on = await world();
  const { definition } = on.platform.base.own("KubeconfigGenerator");
  const value = definition.columns?.find(({ name }) => name === "Format")?.value;
  if (typeof value !== "function")
    throw new Error("the column has a path, which finds nothing where there is no format");
  await on.generate();
  expect(value(on.state(), 0)).toBe("Kubeconfig");
  expect(value({ ...on.state(), spec: { format: "Flux" } }, 0)).toBe("Flux");
});
