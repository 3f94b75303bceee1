// CustomResourceDefinitions inside an embedded virtual cluster, by its own kubeconfig and with a real kubectl.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CoordinationV1Api, CustomObjectsApi, KubeConfig, makeInformer, Watch } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { succeed, tool } from "./testing/postern-process.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

/** As controllers publish them: two versions, a scale, conditions, defaults, rules and columns. */
const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: databases.db.example.com
spec:
  group: db.example.com
  scope: Namespaced
  names: {plural: databases, kind: Database, shortNames: [db], categories: [all, stores]}
  versions:
    - name: v1beta1
      served: true
      storage: false
      deprecated: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
        scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
      additionalPrinterColumns:
        - {name: Engine, type: string, jsonPath: .spec.engine}
        - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
      schema:
        openAPIV3Schema:
          description: A database.
          type: object
          properties:
            spec:
              type: object
              required: [engine]
              properties:
                engine: {type: string, enum: [postgres, mysql], description: Which program serves it.}
                replicas: {type: integer, default: 1, minimum: 0}
              x-kubernetes-validations:
                - {rule: "self.engine != 'mysql' || self.replicas <= 1", message: mysql has one replica}
            status:
              type: object
              properties: {replicas: {type: integer}, conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`;
const DATABASE = `
apiVersion: db.example.com/v1
kind: Database
metadata: {name: orders}
spec: {engine: postgres}
`;

let clusters: TenantClusters;
let kubectl: KubectlSession;
let config: string;
beforeAll(async () => {
  clusters = await startTenantClusters();
  ({ kubectl, config } = await clusters.open("demo"));
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

test("a definition is applied, established, explained and used", async () => {
  expect(await kubectl.run("apply -f -", CRD)).toBe(
    "customresourcedefinition.apiextensions.k8s.io/databases.db.example.com created\n",
  );
  await kubectl.run("wait --for=condition=Established crd/databases.db.example.com --timeout=30s");
  expect(await kubectl.run("apply -f -", CRD)).toContain("unchanged");
  expect(await kubectl.run("apply --server-side --force-conflicts -f -", CRD)).toContain("serverside-applied");
  expect(await kubectl.run("apply -f -", DATABASE)).toBe("database.db.example.com/orders created\n");
  expect(await kubectl.run("get db")).toMatch(/^NAME +ENGINE +AGE\norders +postgres +\S+\n$/);
  expect(await kubectl.run("get stores -o name")).toBe("database.db.example.com/orders\n");
  expect(await kubectl.run("explain databases.spec.engine")).toContain("Which program serves it.");
  expect(await kubectl.run("api-resources --api-group=db.example.com")).toMatch(
    /databases +db +db.example.com\/v1 +true/,
  );
});

test("objects are held to the schema and its rules, in every way of writing", async () => {
  expect(await kubectl.fails('patch db orders --type=merge -p {"spec":{"engine":"oracle"}}')).toContain(
    'spec.engine: Unsupported value: "oracle": supported values: "postgres", "mysql"',
  );
  expect(await kubectl.fails('patch db orders --type=merge -p {"spec":{"engine":"mysql","replicas":3}}')).toContain(
    "mysql has one replica",
  );
  expect(await kubectl.fails("apply -f -", DATABASE.replace("postgres", "postgres, siez: 1"))).toContain(
    'unknown field "spec.siez"',
  );
  await kubectl.run("scale db orders --replicas=3");
  expect((await kubectl.json("get db orders")).spec.replicas).toBe(3);
  await kubectl.run('patch db orders --subresource=status --type=merge -p {"status":{"replicas":3}}');
  expect((await kubectl.json("get db orders")).status.replicas).toBe(3);
});

test("an old version is served with its warning, and the definition takes its objects along", async () => {
  const old = await kubectl(["get", "databases.v1beta1.db.example.com", "orders", "-o", "name"]);
  expect(old.stderr).toContain("db.example.com/v1beta1 Database is deprecated; use db.example.com/v1 Database");
  await kubectl.run("delete crd databases.db.example.com --timeout=30s");
  expect(await kubectl.fails("get databases")).toMatch(/could not find the requested resource|doesn't have/);
  await kubectl.run("apply -f -", CRD);
  await kubectl.run("wait --for=condition=Established crd/databases.db.example.com --timeout=30s");
  expect((await kubectl.json("get databases")).items).toEqual([]);
});

test.each(["1.32", "1.35"] as const)(
  "helm of %s installs a chart with a crds folder, and objects of it",
  async (release) => {
    const name = `shelf${release.replace(".", "")}`;
    const chart = join(clusters.directory, name);
    await mkdir(join(chart, "crds"), { recursive: true });
    await mkdir(join(chart, "templates"));
    const plural = `${name}s`;
    const crd = CRD.replaceAll("databases", plural).replace("kind: Database, shortNames: [db]", `kind: K${name}`);
    await writeFile(join(chart, "Chart.yaml"), `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`);
    await writeFile(join(chart, "crds", "shelf.yaml"), crd);
    await writeFile(
      join(chart, "templates", "shelf.yaml"),
      DATABASE.replace("kind: Database", `kind: K${name}`).replace("postgres", "{{ .Values.engine }}"),
    );
    await writeFile(join(chart, "values.yaml"), "engine: postgres\n");
    const { helm } = await kubernetesTools(release);
    const homes = ["CACHE", "CONFIG", "DATA"].map(
      (home) => `HELM_${home}_HOME=${join(clusters.directory, `helm-${name}`, home)}`,
    );
    const run = (...args: string[]) => succeed(tool("env", [...homes, helm, "--kubeconfig", config, ...args]));
    expect(await run("install", name, chart)).toContain("STATUS: deployed");
    const engine = async () => (await kubectl.json(`get ${plural} orders`)).spec.engine;
    expect(await engine()).toBe("postgres");
    await run("upgrade", name, chart, "--set", "engine=mysql");
    expect(await engine()).toBe("mysql");
    await run("uninstall", name);
    expect((await kubectl.json(`get ${plural}`)).items).toEqual([]);
    expect(await kubectl.run(`get crd ${plural}.db.example.com -o name`)).toContain(plural);
    // As hubs of GitOps do: render, and apply on the server, over a definition that is there and then over both.
    const rendered = join(clusters.directory, `${name}.yaml`);
    await writeFile(rendered, await run("template", name, chart, "--include-crds", "--set", "engine=postgres"));
    const apply = `apply --server-side --force-conflicts --field-manager hub --filename ${rendered}`;
    for (let time = 0; time < 2; time++) {
      expect((await kubectl.run(apply)).trim().split("\n").sort()).toEqual([
        `customresourcedefinition.apiextensions.k8s.io/${plural}.db.example.com serverside-applied`,
        `k${name}.db.example.com/orders serverside-applied`,
      ]);
    }
    const { metadata, spec } = await kubectl.json(`get ${plural} orders --show-managed-fields`);
    expect([metadata.generation, spec]).toEqual([1, { engine: "postgres", replicas: 1 }]);
    expect(metadata.managedFields).toMatchObject([{ manager: "hub", operation: "Apply" }]);
  },
);

test("two controllers elect a leader with a Lease, and the other one takes over", async () => {
  const loaded = new KubeConfig();
  loaded.loadFromFile(config);
  const leases = loaded.makeApiClient(CoordinationV1Api);
  const objects = loaded.makeApiClient(CustomObjectsApi);
  const DATABASES = { group: "db.example.com", version: "v1", namespace: "default", plural: "databases" };
  const lease = { name: "database-controller", namespace: "default" };

  /** Takes the Lease if it is free; a write that comes second is a conflict. */
  const lead = async (identity: string): Promise<boolean> => {
    const spec = { holderIdentity: identity, leaseDurationSeconds: 15 };
    try {
      const current = await leases.readNamespacedLease(lease).catch(() => undefined);
      if (current === undefined)
        await leases.createNamespacedLease({ namespace: "default", body: { metadata: lease, spec } });
      else if ((current.spec?.holderIdentity ?? "") !== "") return current.spec?.holderIdentity === identity;
      else await leases.replaceNamespacedLease({ ...lease, body: { ...current, spec } });
      return true;
    } catch {
      return false;
    }
  };
  const release = async (): Promise<void> => {
    const current = await leases.readNamespacedLease(lease);
    await leases.replaceNamespacedLease({ ...lease, body: { ...current, spec: { holderIdentity: "" } } });
  };
  /** Writes to the status of each object who has seen it. */
  const startController = (identity: string) => {
    const list = () => objects.listNamespacedCustomObject(DATABASES);
    const informer = makeInformer<any>(loaded, "/apis/db.example.com/v1/namespaces/default/databases", list);
    const reconcile = async ({ metadata, status }: any): Promise<void> => {
      if (status?.conditions !== undefined || !(await lead(identity))) return;
      const body = [{ op: "add", path: "/status", value: { conditions: [{ type: "Ready", by: identity }] } }];
      await objects.patchNamespacedCustomObjectStatus({ ...DATABASES, name: metadata.name, body });
    };
    informer.on("add", (object) => void reconcile(object));
    return informer;
  };
  const seenBy = async (name: string): Promise<string | undefined> =>
    (await kubectl.json(`get db ${name}`)).status?.conditions?.[0]?.by;

  expect(await lead("first")).toBe(true);
  expect(await lead("second")).toBe(false);
  const [first, second] = [startController("first"), startController("second")];
  await first.start();
  await second.start();
  await kubectl.run("apply -f -", DATABASE.replace("orders", "led"));
  await expect.poll(() => seenBy("led")).toBe("first");
  await first.stop();
  await release();
  await kubectl.run("apply -f -", DATABASE.replace("orders", "led-on"));
  await expect.poll(() => seenBy("led-on")).toBe("second");
  await second.stop();
});

test("a watch hears of the objects that go with their definition, and ends", async () => {
  const loaded = new KubeConfig();
  loaded.loadFromFile(config);
  const events: string[] = [];
  let ended: (error: unknown) => void = () => undefined;
  const end = new Promise((resolve) => {
    ended = resolve;
  });
  const path = "/apis/db.example.com/v1/namespaces/default/databases";
  await new Watch(loaded).watch(path, {}, (type, object) => events.push(`${type} ${object.metadata.name}`), ended);
  await expect.poll(() => events).toContain("ADDED led");
  await kubectl.run("delete crd databases.db.example.com --timeout=30s");
  await end;
  expect(events).toEqual(expect.arrayContaining(["DELETED led", "DELETED led-on"]));
  expect(events.filter((event) => event.startsWith("ERROR"))).toEqual([]);
});
