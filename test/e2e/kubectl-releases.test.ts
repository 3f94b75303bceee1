// Tasks for every kubectl, with the newest release and with Debian's, which is years older, against one server: look around, create, apply
// from both sides, wait, explain, change and delete, in the management API and in a virtual cluster. By night each release does it.

import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KubectlSession, kubectlSession, outermostReleases } from "./testing/kubectl-clients.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { succeed, tool } from "./testing/postern-process.ts";

const GROUP = "management.postern/v1";
const DEMO = `/apis/${GROUP}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`;
const { clients, missing } = await outermostReleases();

let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server?.[Symbol.asyncDispose]());

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("is tested with the others alone", () => {});
});

const text = (kind: string, metadata: object, rest: object = {}, apiVersion = GROUP): string =>
  JSON.stringify({ apiVersion, kind, metadata, ...rest });

describe.concurrent.each(clients)("kubectl 1.$minor ($tag)", ({ program, minor, tag }) => {
  const sessionWith = (config: () => string): KubectlSession =>
    kubectlSession(config, () => join(server.directory, `cache-${tag}`), program);
  const management = sessionWith(() => server.adminKubeconfig);
  const insideConfig = () => join(server.directory, `${tag}.kubeconfig`);
  const inside = sessionWith(insideConfig);
  const file = async (name: string, content: string): Promise<string> => {
    const path = join(server.directory, `${tag}-${name}`);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };

  it("looks around, applies and waits in the management API", async () => {
    const { run, json } = management;
    expect(await run("cluster-info")).toContain("control plane");
    const all = await management(["get", "all"]);
    expect([all.code, all.stderr]).toEqual([0, "No resources found in default namespace.\n"]);
    expect(await run("explain ownedaccesskeys.spec.scope.virtualClusters")).toMatch(
      /<\[\]Object>[\s\S]*virtualCluster/,
    );
    const review = text("SelfSubjectReview", {}, {}, "authentication.k8s.io/v1");
    expect(await run("create -f - -o jsonpath={.status.userInfo.username}", review)).toBe("admin");
    expect(await run("auth can-i create ownedaccesskeys")).toBe("yes\n");

    const [name, secret] = [`key-${tag}`, `value-${tag}`];
    const spec = { ttl: 3600, secretRef: { namespace: "default", name: secret } };
    const manifest = text("OwnedAccessKey", { name }, { spec });
    for (const flags of [[], ["--server-side", "--force-conflicts"]]) {
      const { code, stderr } = await management(["apply", ...flags, "-f", "-"], manifest);
      expect([code, stderr]).toEqual([0, ""]);
    }
    const unseen = text("OwnedAccessKey", { name: `unseen-${tag}` }, { spec: { ttl: 3600 } });
    const applied = await management(["apply", "--server-side", "-o", "yaml", "-f", "-"], unseen);
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining("Warning: spec.secretRef: unset")]);
    expect(applied.stdout).not.toMatch(/^ {2}key:/m);
    const client = text("OwnedAccessKey", { name: `printed-${tag}` }, { spec: { ttl: 3600 } });
    expect((await management(["apply", "-f", "-"], client)).stderr).toContain("Warning: spec.secretRef: unset");
    // The value goes from the Secret to a request without being printed.
    const whoAmI = await file(
      "who.sh",
      `K=$("$1" --kubeconfig "$2" get secret -n default ${secret} -o jsonpath={.data.key} | base64 -d)
       printf '%s' '{"apiVersion":"${GROUP}","kind":"Self"}' | "$1" --kubeconfig "$2" --token "$K" create -f - -o jsonpath={.status.accessKey}`,
    );
    expect(await succeed(tool("sh", [whoAmI, program, server.adminKubeconfig]))).toBe(name);
    await run(`delete ownedaccesskey ${name}`);
    const gone = await management(["wait", "--for=delete", `secret/${secret}`, "-n", "default", "--timeout=60s"]);
    // Old ones complain where it is gone already.
    expect(`${gone.code} ${gone.stderr}`).toMatch(/^0 |no matching resources found/);
    expect((await json("get ownedaccesskeys")).items.length).toBeGreaterThan(0);
  });

  it("waits for every kind that has a status", async () => {
    const { run } = management;
    const document = JSON.parse(await run(`get --raw /openapi/v3/apis/${GROUP}`));
    const { resources } = JSON.parse(await run(`get --raw /apis/${GROUP}`));
    const kinds: readonly string[] = Object.values<any>(document.components.schemas)
      .filter(({ properties }) => properties?.status !== undefined)
      .flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? [])
      .filter(({ group }) => group === "management.postern")
      .map(({ kind }) => kind);
    const stored = resources.filter(
      ({ name, kind, verbs }: any) => !name.includes("/") && verbs.includes("list") && kinds.includes(kind),
    );
    const name = `waits-${tag}`;
    const there: { readonly [kind: string]: string } = {
      Cluster: "embedded",
      Project: "default",
      VirtualClusterInstance: "demo",
    };
    // An issuer with given keys, which need not be fetched.
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const trust = {
      issuer: {
        url: "https://issuer.example.com",
        jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), alg: "ES256", kid: "one" }] }),
      },
      audiences: ["postern"],
      claims: [{ claim: "sub", values: ["job"] }],
      user: "admin",
      scope: { projects: [{ project: "default" }] },
    };
    const specs: { readonly [kind: string]: object } = {
      OwnedAccessKey: { ttl: 60 },
      ClusterTrustRule: trust,
      TrustRule: trust,
      KubeconfigGenerator: { selector: { matchLabels: { "shown-to": "nothing" } }, secretRef: { name } },
      IdentityProvider: {
        issuer: { url: "https://127.0.0.1:9" },
        clientId: "postern",
        claimMappings: { username: { claim: "sub" } },
      },
    };
    // Nothing answers at that address.
    const unmet = ["IdentityProvider"];
    // Instances say whether a template applies to them, and a request is not made ready: it waits for people.
    const withoutConditions = ["VirtualClusterTemplate", "AccessRequest"];
    for (const { name: resource, kind, namespaced } of stored) {
      if (withoutConditions.includes(kind)) continue;
      const where = namespaced ? " -n p-default" : "";
      if (there[kind] === undefined) {
        const metadata = { name, ...(namespaced ? { namespace: "p-default" } : {}) };
        await run("create -f - -o name", text(kind, metadata, { spec: specs[kind] ?? {} }));
      }
      const target = `${resource}/${there[kind] ?? name}${where}`;
      const ready = unmet.includes(kind) ? "Ready=false" : "Ready";
      expect(await run(`wait --for=condition=${ready} ${target} --timeout=60s`)).toContain("condition met");
    }
    expect(stored.map(({ kind }: any) => kind)).toEqual(
      expect.arrayContaining([
        "OwnedAccessKey",
        "User",
        "Team",
        "Project",
        "Cluster",
        "SpaceInstance",
        "ProjectSecret",
      ]),
    );
  });

  it("works in a virtual cluster", async () => {
    const issued = JSON.parse(await management.run(`create --raw ${DEMO} -f -`, "{}"));
    await writeFile(insideConfig(), issued.status.kubeConfig, { mode: 0o600 });
    const { run, fails } = inside;
    expect(await run("cluster-info")).toContain("control plane");
    expect(await run("get all -o name")).toBe("service/kubernetes\n");
    const name = `map-${tag}`;
    const map = (value: string): string => text("ConfigMap", { name }, { data: { value } }, "v1");
    const value = () => run(`get configmap ${name} -o jsonpath={.data.value}`);
    expect(await run("apply -f -", map("1"))).toBe(`configmap/${name} created\n`);
    expect(await run("apply -f -", map("1"))).toBe(`configmap/${name} unchanged\n`);
    expect(await run("apply -f -", map("2"))).toBe(`configmap/${name} configured\n`);
    expect(await run("apply --server-side --force-conflicts -f -", map("3"))).toContain("serverside-applied");
    expect(await value()).toBe("3");
    await run(`patch configmap ${name} --type=json -p [{"op":"replace","path":"/data/value","value":"4"}]`);
    expect(await run(`get -A configmaps --field-selector=metadata.name=${name} -o name`)).toBe(`configmap/${name}\n`);
    expect((await inside(["diff", "-f", "-"], map("5"))).code).toBe(1);
    expect(await run("explain configmaps.data")).toContain("map[string]string");
    expect(await fails(`get configmap ${name}-2`)).toContain("NotFound");
    await run(`delete configmap ${name}`);
    expect(minor).toBeGreaterThan(19);
  });
});
