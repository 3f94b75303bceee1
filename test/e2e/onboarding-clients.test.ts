// Many tenants at once by what platform teams use besides kubectl: the real helm, and the requests of Terraform, Argo CD and Flux in their order.
// Sources: terraform-provider-kubernetes/manifest/provider/apply.go, argoproj/gitops-engine/pkg/sync, fluxcd/pkg/ssa/manager_apply.go

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, httpClient } from "./testing/http-client.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { kubectlWith, succeed, tool } from "./testing/postern-process.ts";
import { APPLY, expectStatus, listableResources, type Send } from "./testing/replayed-client.ts";
import { type Manifest, tenants } from "./testing/tenants.ts";

/** Of each client. By night they are fifty. */
const TENANTS = Number(process.env["ONBOARDED_TENANTS"] ?? 3);

let server: OwnServer;
let send: Send;
let kubectl: (line: string) => Promise<string>;
let collections: ReadonlyMap<string, string>;

beforeAll(async () => {
  server = await startOwnServer();
  const http = await httpClient(server);
  const key = await adminKey(server);
  send = (method, path, { body, type = "application/json", accept = "application/json, */*" } = {}) =>
    http(`/kubernetes/management${path}`, {
      method,
      key,
      headers: { accept, ...(body === undefined ? {} : { "content-type": type }) },
      ...(body === undefined ? {} : { body }),
    });
  const run = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
  kubectl = (line) => succeed(run(line.split(" ")));
  const resources = await listableResources(send);
  collections = new Map(
    resources.map(({ path, kind }) => [`${path.replace(/^\/apis?\/(.*)\/[^/]+$/, "$1")} ${kind}`, path]),
  );
});
afterAll(() => server?.[Symbol.asyncDispose]());

const pathOf = ({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string => {
  const collection = collections.get(`${apiVersion} ${kind}`) ?? "";
  return `${namespace === undefined ? collection : collection.replace(/\/(?=[^/]*$)/, `/namespaces/${namespace}/`)}/${name}`;
};

const applied = (object: Manifest, manager: string, query = "&force=true") =>
  send("PATCH", `${pathOf(object)}?fieldManager=${manager}${query}`, { type: APPLY, body: object });

/** Works through a list, `width` entries at a time. */
async function inParallel<T>(width: number, list: readonly T[], each: (one: T) => Promise<void>): Promise<void> {
  const left = [...list];
  const worker = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await each(one);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Of the objects whose names begin with the prefix, and that have a condition. */
async function expectReady(prefix: string): Promise<void> {
  const kinds = ["User", "Team", "Project", "VirtualClusterInstance"];
  const unready = async (): Promise<readonly string[]> => {
    const lists = await Promise.all(
      kinds.map((kind) => expectStatus(200, send("GET", collections.get(`management.postern/v1 ${kind}`) ?? ""))),
    );
    const own = lists.map(({ items }) => items.filter(({ metadata }: any) => ownName(metadata).startsWith(prefix)));
    expect(own.map(({ length }) => length)).toEqual(kinds.map(() => TENANTS));
    const isReady = ({ status }: any): boolean =>
      status?.conditions?.some((condition: any) => condition.type === "Ready" && condition.status === "True") === true;
    return own.flat().flatMap((object) => (isReady(object) ? [] : [ownName(object.metadata)]));
  };
  await expect.poll(unready, { interval: 200 }).toEqual([]);
}

/** Instances are all called alike. */
const ownName = ({ name, namespace }: any): string => (namespace === undefined ? name : namespace.slice("p-".length));

const isKey = ({ kind }: Manifest): boolean => kind === "OwnedAccessKey";
const isRole = ({ kind }: Manifest): boolean => kind.startsWith("Role");

describe.each([
  ["helm 3", "1.32"],
  ["helm 4", "1.35"],
] as const)("%s", (name, release) => {
  it("installs one release of all tenants, upgrades it, and takes all away again", async () => {
    const prefix = name.replace(" ", "");
    const chart = join(server.directory, prefix);
    const write = async (count: number, title: string): Promise<void> => {
      // Helm sends kinds that it does not know last, by their names: roles would come before their namespaces, keys before their teams.
      const objects = tenants(prefix, count).filter((each) => !isRole(each) && !isKey(each));
      await writeFile(join(chart, "Chart.yaml"), `apiVersion: v2\nname: tenants\nversion: 0.1.0\n`);
      const text = objects.map((each) => JSON.stringify(each)).join("\n---\n");
      await writeFile(join(chart, "templates/tenants.yaml"), text.replaceAll('"Lead"', JSON.stringify(title)));
    };
    await mkdir(join(chart, "templates"), { recursive: true });
    const { helm } = await kubernetesTools(release);
    const homes = ["CACHE", "CONFIG", "DATA"].map((home) => `HELM_${home}_HOME=${join(chart, home)}`);
    const run = (...args: string[]) =>
      succeed(tool("env", [...homes, helm, "--kubeconfig", server.adminKubeconfig, "-n", "default", ...args]));
    const wait = ["--wait", "--timeout", "50s"];

    await write(TENANTS, "Lead");
    expect(await run("install", prefix, chart, ...wait)).toContain("STATUS: deployed");
    await expectReady(prefix);
    await write(TENANTS - 1, "Head");
    expect(await run("upgrade", prefix, chart, ...wait)).toContain("STATUS: deployed");
    expect(await kubectl(`get user ${prefix}0-lead -o jsonpath={.spec.displayName}`)).toBe("Head");
    const last = `${prefix}${TENANTS - 1}`;
    await kubectl(`wait --for=delete project/${last} ns/p-${last} --timeout=50s`);
    // The rollback restores the objects that the upgrade removed.
    await run("rollback", prefix, "1", ...wait);
    await expectReady(prefix);
    await run("uninstall", prefix, ...wait);
    const left = await kubectl("get projects,teams,users,virtualclusterinstances -A -o name");
    expect(left.split("\n").filter((line) => line.includes(prefix))).toEqual([]);
  });
});

describe("Terraform's kubernetes_manifest", () => {
  it("makes all tenants, ten at once after what they refer to, and sees no difference afterwards", async () => {
    const objects = tenants("tf", TENANTS);
    const steps = [
      ["User"],
      ["Team"],
      ["Project"],
      ["Role", "VirtualClusterInstance", "OwnedAccessKey"],
      ["RoleBinding"],
    ];
    for (const kinds of steps) {
      const ready = objects.filter(({ kind }) => kinds.includes(kind));
      await inParallel(10, ready, async (object) => {
        await expectStatus(404, send("GET", pathOf(object)));
        await expectStatus(201, applied(object, "Terraform", "&force=false"));
      });
    }
    await expectReady("tf");
    await inParallel(10, objects, async (object) => {
      const live = await expectStatus(200, send("GET", pathOf(object)));
      const planned = await expectStatus(200, applied(object, "Terraform", "&force=false&dryRun=All"));
      expect(planned.metadata.resourceVersion).toBe(live.metadata.resourceVersion);
    });
    for (const kinds of steps.toReversed()) {
      const going = objects.filter(({ kind }) => kinds.includes(kind));
      await inParallel(10, going, async (object) => {
        await expectStatus(200, send("DELETE", pathOf(object)));
        await expect.poll(async () => (await send("GET", pathOf(object))).status).toBe(404);
      });
    }
  });
});

describe("Argo CD", () => {
  const ORDER = ["Role", "RoleBinding"];
  /** As it sorts what has no sync wave: known kinds first, then names, whatever the kind. */
  const sorted = (objects: readonly Manifest[]): readonly Manifest[] =>
    objects.toSorted((one, other) => {
      const [first, second] = [one, other].map(({ kind }) => ORDER.indexOf(kind) >>> 0) as [number, number];
      return first - second || (one.metadata.name < other.metadata.name ? -1 : 1);
    });
  /** One sync: neighbours of one kind at once, and on with the others where one fails. Resolves with the refusals. */
  const sync = async (objects: readonly Manifest[]): Promise<readonly string[]> => {
    const refused: string[] = [];
    let group: Manifest[] = [];
    const flush = async (): Promise<void> => {
      await inParallel(10, group, async (object) => {
        const { status, body } = await applied(object, "argocd-controller");
        if (status >= 300) refused.push(body.message);
      });
      group = [];
    };
    for (const object of sorted(objects)) {
      if (group[0] !== undefined && group[0].kind !== object.kind) await flush();
      group.push(object);
    }
    await flush();
    return refused;
  };

  it("has all tenants after retries, since it knows no order of kinds, and finds nothing to do then", async () => {
    const objects = tenants("argo", TENANTS);
    const counts: number[] = [];
    do counts.push((await sync(objects)).length);
    while (counts.at(-1) !== 0 && counts.length < 5);
    expect(counts.at(-1)).toBe(0);
    // Its default is five retries.
    expect(counts.length).toBeLessThanOrEqual(3);
    await expectReady("argo");
    const versions = () =>
      kubectl("get projects,teams,users,ownedaccesskeys -o jsonpath={.items[*].metadata.generation}");
    const before = await versions();
    expect(await sync(objects)).toEqual([]);
    expect(await versions()).toBe(before);
  });

  it("has them in one sync where projects, users and teams are in an earlier wave", async () => {
    const objects = tenants("wave", TENANTS);
    const isEarly = ({ kind }: Manifest): boolean => ["Project", "User", "Team"].includes(kind);
    expect(await sync(objects.filter(isEarly))).toEqual([]);
    expect(await sync(objects.filter((each) => !isEarly(each)))).toEqual([]);
    await expectReady("wave");
  });
});

describe("Flux", () => {
  /** All of a stage in a dry run, and only then one after the other. Throws with the first refusal. Resolves with what it has written. */
  const applyAll = async (objects: readonly Manifest[]): Promise<readonly Manifest[]> => {
    const changed = new Set<Manifest>();
    await inParallel(4, objects, async (object) => {
      const live = await send("GET", pathOf(object));
      const { status, body } = await applied(object, "kustomize-controller", "&force=true&dryRun=All");
      if (status >= 300) throw new Error(body.message);
      if (live.status === 404 || body.metadata.resourceVersion !== live.body.metadata.resourceVersion)
        changed.add(object);
    });
    const written = objects.filter((each) => changed.has(each));
    for (const object of written) {
      const { status, body } = await applied(object, "kustomize-controller");
      if (status >= 300) throw new Error(body.message);
    }
    return written;
  };
  const STAGE = ["User", "Team", "Project"];

  it("has all tenants in one Kustomization with --custom-apply-stage-kinds, and finds nothing to do then", async () => {
    const objects = tenants("flux", TENANTS);
    // Without the flag: nothing is written before all of it would be accepted.
    await expect(applyAll(objects)).rejects.toThrow('namespaces "p-flux');
    expect((await send("GET", "/apis/management.postern/v1/projects/flux0")).status).toBe(404);

    const stages = [true, false].map((isEarly) => objects.filter(({ kind }) => STAGE.includes(kind) === isEarly));
    for (const stage of stages) expect(await applyAll(stage)).toHaveLength(stage.length);
    await expectReady("flux");
    for (const stage of stages) expect(await applyAll(stage)).toEqual([]);
  });
});
