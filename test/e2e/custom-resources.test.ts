// CustomResourceDefinitions inside an embedded virtual cluster, by its own kubeconfig and with a real kubectl.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubectlSession, kubectlSession } from "./testing/kubectl-clients.ts";
import {
  kubectlWith,
  type PosternProcess,
  startPostern,
  succeed,
  temporaryDirectory,
} from "./testing/postern-process.ts";

const DEMO = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";

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

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let kubectl: KubectlSession;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startPostern(join(directory.path, "data"), []);
  const admin = kubectlWith(server.adminKubeConfig, join(directory.path, "cache-admin"), "kubectl");
  const made = JSON.parse(await succeed(admin(["create", "--raw", DEMO, "-f", "-"], "{}")));
  const config = join(directory.path, "demo.kubeconfig");
  await writeFile(config, made.status.kubeConfig, { mode: 0o600 });
  kubectl = kubectlSession(
    () => config,
    () => join(directory.path, "cache"),
    "kubectl",
  );
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

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
