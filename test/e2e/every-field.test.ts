// Every field of every kind of ours, and of devices in embedded clusters, as the server publishes it, in manifests that real kubectls apply under strict validation: without a
// warning, and read back as they were written.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filled, placesOf, type Schema, type Schemas } from "./testing/filled-manifests.ts";
import { type KubectlSession, kubectlSession } from "./testing/kubectl-clients.ts";
import { chosenKubernetesReleases, kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";

const GROUPS = ["management.postern/v1", "storage.postern/v1"];
const DEVICES = ["resource.k8s.io/v1"];

const WAIT = { timeout: 60_000, interval: 100 };

let server: OwnServer;
beforeAll(async () => {
  // A mode of recording is a warning on a server without.
  server = await startOwnServer((directory) => ["--session-recording-dir", join(directory, "recordings")]);
});
afterAll(() => server?.[Symbol.asyncDispose]());

const keyOfIssuer = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey.export({ format: "jwk" });

/** Names of what is there, and texts that have to be of a form. The first that fits counts; others get any value of their type. */
const VALUES: readonly (readonly [place: RegExp, value: () => unknown])[] = [
  [/sessionRecording\.mode$/, () => "BestEffort"],
  [/\bspec\.key$/, () => randomBytes(32).toString("base64url")],
  [/\.(idToken|accessToken|refreshToken|connectorData)$/, () => randomBytes(24).toString("base64")],
  [/\.(owner\.)?user$|\.users\[\]$|members\[\]\.name$|\.parent$/, () => "admin"],
  [/\.(owner\.)?team$|\.teams\[\]$/, () => "everyone"],
  [/members\[\]\.group$/, () => "storage.postern"],
  [/members\[\]\.clusterRole$/, () => "postern:project-user"],
  [/extraAccessRules\[\]\.clusterRole$/, () => "view"],
  [/\.verbs\[\]$/, () => "get"],
  [/\.subresources\[\]$/, () => "kubeconfig"],
  [/rules\[\]\.resources\[\]\.group$/, () => "management.postern"],
  [/rules\[\]\.resources\[\]\.resources\[\]$/, () => "projects"],
  [/\.nonResourceURLs\[\]$/, () => "/version"],
  [/\.roles\[\]\.role$/, () => "vcluster"],
  [/allowedClusters\[\]\.name$|clusterRef\.cluster$|\.clusters\[\]\.cluster$|rules\[\]\.cluster$/, () => "embedded"],
  [/\.projects?(\[\]|\[\]\.project)?$|\.project$/, () => "default"],
  [/\.virtualClusters\[\](\.virtualCluster|\.name)?$/, () => "demo"],
  [/\.spaces\[\]\.space$/, () => "previews"],
  [/\.virtualClusters\[\]\.namespace$/, () => "p-default"],
  [/secretRef\.namespace$/, () => "default"],
  [/\.email$/, () => "full@example.com"],
  [/spec\.groups\[\]$/, () => "postern:admins"],
  [/quotas\.\w+\.\*name$/, () => "count/virtualclusterinstances"],
  [/quotas\.\w+\.\*$/, () => "9"],
  [/spec\.type$/, () => "User"],
  [/\btemplateRef\.name$/, () => "prepared"],
  [/versions\[\]\.version$/, () => "1.2.0"],
  [/secretRef\.name$/, () => "value-of-full"],
  [/secretRef\.key$/, () => "token"],
  [/issuer\.preset$/, () => "github"],
  [/issuer\.(url|discoveryURL)$/, () => "https://issuer.example.com"],
  [/issuer\.jwks$/, () => JSON.stringify({ keys: [{ ...keyOfIssuer, alg: "ES256", kid: "one" }] })],
  [/issuer\.certificateAuthority$/, () => createTestCertificate().cert],
  [/clusterRef\.(namespace|virtualCluster)$/, () => "full"],
  [/claims\[\]\.values\[\]$/, () => "74"],
  [/claims\[\]\.claim$/, () => "repository_id"],
  [/claimMappings\.groups\.expression$/, () => "claims.groups"],
  [/claimValidationRules\[\]\.expression$/, () => "claims.email == 'full@example.com'"],
  [/^spec\.clientAuthentication$/, () => "PrivateKeyJWT"],
  [/userValidationRules\[\]\.expression$/, () => "user.username != 'root'"],
  [/(claimMappings\.\w+\.expression|valueExpression)$/, () => "claims.email"],
  [/extra\[\]\.key$/, () => "example.com/email"],
  [/conditions\[\]\.expression$/, () => "claims.ref == 'refs/heads/main'"],
  [/spec\.ttl$/, () => 600],
  [/spec\.maxUses$/, () => 5],
  [/allowedSourceRanges\[\]$/, () => "10.20.0.0/16"],
  [/certificateSHA256$/, () => "ab".repeat(32)],
  [/jwkThumbprint$/, () => "A".repeat(43)],
  [/requesters\.expression$/, () => "'full' in user.groups"],
  [/spec\.autoApprove$/, () => "request.role == 'none'"],
  [/targets\[\]\.kind$/, () => "VirtualCluster"],
  [/targets\[\]\.projects\[\]$/, () => "default"],
  [/reason\.pattern$/, () => "^OPS-"],
  [/[dD]urationSeconds$/, () => 600],
  [/^spec\.policy\.name$/, () => "full"],
  [/^spec\.target\.project$/, () => "default"],
  [/^spec\.target\.virtualCluster$/, () => "demo"],
  [/^spec\.role$/, () => "view"],
  [/selector\.matchLabels\.\*$|secretTemplate\.labels\.\*$|matchExpressions\[\]\.values\[\]$/, () => "dev"],
  [/matchExpressions\[\]\.operator$/, () => "In"],
  [/matchExpressions\[\]\.key$|copyLabels\[\]$/, () => "environment"],
  // The other formats have no label, or no key, of their own.
  [/^spec\.format$/, () => "Flux"],
];

const DEVICE_VALUES: typeof VALUES = [
  [/cel\.expression$/, () => "device.driver == 'gpu.example.com'"],
  [/\bdriver$/, () => "gpu.example.com"],
  [/opaque\.parameters$/, () => ({ kept: { as: ["it", "is"] } })],
  [/extendedResourceName$/, () => "example.com/gpu"],
  [/deviceClassName$/, () => "full"],
  [/allocationMode$/, () => "ExactCount"],
  [/(constraints|config)\[\]\.requests\[\]$|requests\[\]\.name$/, () => "first"],
  [/(match|distinct)Attribute$/, () => "gpu.example.com/model"],
  [/tolerations\[\]\.operator$/, () => "Equal"],
  [/(tolerations|taints)\[\]\.effect$/, () => "NoExecute"],
  [/(tolerations|taints)\[\]\.key$|bindingConditions\[\]$/, () => "example.com/state"],
  [/bindingFailureConditions\[\]$/, () => "example.com/lost"],
  [/attributes\.\*\.version$/, () => "1.2.3"],
  [/capacity\.requests\.\*$|counters\.\*\.value$|capacity\.\*\.value$/, () => "8Gi"],
  [/requestPolicy\.(default|validValues\[\]|validRange\.max)$/, () => "4Gi"],
  [/validRange\.(min|step)$/, () => "1Gi"],
  [/matchExpressions\[\]\.operator$|matchFields\[\]\.operator$/, () => "In"],
  [/matchFields\[\]\.key$/, () => "metadata.name"],
  [/matchExpressions\[\]\.key$/, () => "example.com/zone"],
  [/match(Expressions|Fields)\[\]\.values\[\]$|[nN]odeName$/, () => "one"],
  [/(tolerations|taints)\[\]\.value$/, () => "lost"],
  [/\.name$|counterSet$|\.labels\.\*$|\.annotations\.\*$/, () => "first"],
];
const valuesOf =
  (values: typeof VALUES) =>
  (place: string): unknown =>
    values.find(([fits]) => fits.test(place))?.[1]();

const REQUEST = [
  [/\.exactly\b/, /\.firstAvailable\b/],
  [/matchAttribute$/, /distinctAttribute$/],
];

/** Of the places of one line, each manifest has the next: they exclude each other. */
const ONE_OF: { readonly [kind: string]: readonly (readonly RegExp[])[] } = {
  OwnedAccessKey: [
    [/^spec\.user$/, /^spec\.team$/, /^spec\.subject$/],
    [/certificateSHA256$/, /jwkThumbprint$/],
  ],
  AccessKey: [
    [/^spec\.user$/, /^spec\.team$/, /^spec\.subject$/],
    [/certificateSHA256$/, /jwkThumbprint$/],
  ],
  Cluster: [[/^spec\.local$/, /^spec\.kubeConfigRef/, /^spec\.networkPeer/]],
  ClusterTrustRule: [[/issuer\.jwks$/, /issuer\.(discoveryURL|certificateAuthority)$/]],
  IdentityProvider: [
    [/^spec\.clientSecretRef/, /^spec\.client(Authentication|Assertion)/],
    [/claimMappings\.\w+\.(claim|prefix)$/, /claimMappings\.\w+\.expression$/],
    [/claimValidationRules\[\]\.(claim|requiredValue)$/, /claimValidationRules\[\]\.expression$/],
  ],
  TrustRule: [[/issuer\.jwks$/, /issuer\.(discoveryURL|certificateAuthority)$/]],
  ResourceClaim: REQUEST,
  ResourceClaimTemplate: REQUEST,
  ResourceSlice: [
    [...Array<RegExp>(5).fill(/^spec\.devices\b/), /^spec\.sharedCounters\b/],
    [
      /^spec\.nodeName$/,
      /^spec\.nodeSelector\b/,
      /^spec\.perDeviceNodeSelection$|devices\[\]\.nodeName$/,
      /^spec\.perDeviceNodeSelection$|devices\[\]\.nodeSelector\b/,
      /^spec\.perDeviceNodeSelection$|devices\[\]\.allNodes$/,
      /^spec\.allNodes$/,
    ],
    [/attributes\.\*\.bool$/, /attributes\.\*\.int$/, /attributes\.\*\.string$/, /attributes\.\*\.version$/],
    [/requestPolicy\.validValues\b/, /requestPolicy\.validRange\b/],
  ],
};

/** In the schema, and refused by what they mean. */
const REFUSED: { readonly [kind: string]: RegExp } = {
  // They would open what is outside of the project.
  TrustRule: /^spec\.scope\.(roles|clusters)\b/,
  // Only for the format ArgoCD, which has no key of its own.
  KubeconfigGenerator: /^spec\.argoCD\b/,
  // A cluster is in no project; this policy has no access in emergencies.
  AccessRequest: /^spec\.(target\.cluster|emergency)$/,
  // Only in namespaces with a label of their own; the status is not applied with the rest.
  ResourceClaim: /adminAccess$|^status\b/,
  // Feature gates that are off by default in 1.36 drop them.
  ResourceSlice: /\.nodeAllocatableResourceMappings\b|attributes\.\*\.(bools|ints|strings|versions)\b/,
  ResourceClaimTemplate: /adminAccess$|^spec\.metadata\.(?!labels|annotations)/,
};

/** Warnings for deprecated fields, and for a field that cannot work here at all. */
const ALLOWED_WARNING =
  /^Warning: spec(\.scope\.rules|\.scope\.allowPosternCli|\.rules|\.allowPlatformCli|\.identityRefresh|\.parent|\.oidcLogin): deprecated; .*$|^Warning: spec\.networkPeer: this release \w+ .* by .*kubeconfig.*$/;

/** The spec as it is read back: credentials are never shown again. */
const shown = (kind: string, { key, ...spec }: any): unknown =>
  JSON.parse(
    JSON.stringify(kind.endsWith("AccessKey") || key === undefined ? spec : { key, ...spec }),
    (name, value) => (/^(connectorData|idToken|accessToken|refreshToken)$/.test(name) ? undefined : value),
  );

/** Objects that the values refer to, in addition to those that exist from the first start on. */
const NAMED = `
apiVersion: management.postern/v1
kind: Team
metadata: {name: everyone}
---
apiVersion: management.postern/v1
kind: SpaceInstance
metadata: {name: previews, namespace: p-default}
---
apiVersion: management.postern/v1
kind: VirtualClusterTemplate
metadata: {name: prepared}
---
apiVersion: management.postern/v1
kind: ClusterAccessPolicy
metadata: {name: full}
spec:
  requesters: {users: [admin]}
  maxDurationSeconds: 600
  targets: [{kind: VirtualCluster, projects: [default], names: [demo], roles: [view]}]
`;

type Kind = {
  readonly kind: string;
  readonly apiVersion: string;
  readonly namespaced: boolean;
  readonly schema: Schema;
};

async function kindsOf(
  { run }: KubectlSession,
  groups: readonly string[],
): Promise<{ readonly kinds: readonly Kind[]; readonly schemas: Schemas }> {
  const kinds: Kind[] = [];
  const schemas: Record<string, Schema> = {};
  for (const apiVersion of groups) {
    const document = JSON.parse(await run(`get --raw /openapi/v3/apis/${apiVersion}`));
    Object.assign(schemas, document.components.schemas);
    const { resources } = JSON.parse(await run(`get --raw /apis/${apiVersion}`));
    for (const { name, kind, namespaced, verbs } of resources) {
      if (name.includes("/") || !verbs.includes("patch")) continue;
      const schema = Object.values<any>(document.components.schemas).find((each) =>
        each["x-kubernetes-group-version-kind"]?.some((gvk: any) => gvk.kind === kind),
      );
      kinds.push({ kind, apiVersion, namespaced, schema });
    }
  }
  return { kinds, schemas };
}

type Applied = {
  readonly groups: readonly string[];
  readonly namespace: string;
  readonly name: string;
  readonly values: ReturnType<typeof valuesOf>;
};

/** The number of kinds. */
async function applyEveryField(kubectl: KubectlSession, { groups, namespace, name, values }: Applied): Promise<number> {
  const { kinds, schemas } = await kindsOf(kubectl, groups);
  for (const { kind, apiVersion, namespaced, schema } of kinds) {
    const metadata = { name, ...(namespaced ? { namespace } : {}) };
    const isOurs = (place: string): boolean => !/^(metadata|kind$|apiVersion$)/.test(place);
    const published = placesOf(schema, schemas).filter(isOurs);
    const all = published.filter((place) => !REFUSED[kind]?.test(place));
    expect(all.length < published.length).toBe(REFUSED[kind] !== undefined);
    const choices = ONE_OF[kind] ?? [];
    const count = Math.max(1, ...choices.map((choice) => choice.length));
    const covered = new Set<string>();
    for (let at = 0; at < count; at++) {
      const isChosen = (place: string): boolean =>
        choices.every((choice) => !choice.some((each) => each.test(place)) || choice[at % choice.length]?.test(place));
      const places = all.filter(isChosen);
      const value = filled(schema, schemas, new Set(places), values) as any;
      for (const place of places) covered.add(place);
      const manifest = { ...value, apiVersion, kind, metadata };
      const { code, stderr } = await kubectl(["apply", "--validate=strict", "-f", "-"], JSON.stringify(manifest));
      const complaints = stderr.split("\n").filter((line) => line !== "" && !ALLOWED_WARNING.test(line));
      expect([kind, code, complaints]).toEqual([kind, 0, []]);
      const read = JSON.parse(
        await kubectl.run(`get ${kind}.v1.${apiVersion.split("/")[0]} ${metadata.name} -n ${namespace} -o json`),
      );
      expect([kind, read.spec]).toEqual([kind, shown(kind, value.spec)]);
      await kubectl.run(`delete ${kind}.v1.${apiVersion.split("/")[0]} ${metadata.name} -n ${namespace}`);
    }
    expect([...covered].toSorted()).toEqual(all.toSorted());
  }
  return kinds.length;
}

describe.each(chosenKubernetesReleases())("kubectl %s", (release) => {
  it("applies every field of every kind without a warning, and reads it back", async () => {
    const { kubectl: program } = await kubernetesTools(release);
    const kubectl = kubectlSession(
      () => server.adminKubeconfig,
      () => join(server.directory, `cache-${release}`),
      program,
    );
    await kubectl.run("apply -f -", NAMED);
    const name = `full-${release.replace(".", "-")}`;
    const applied = { groups: GROUPS, namespace: "p-default", name, values: valuesOf(VALUES) };
    expect(await applyEveryField(kubectl, applied)).toBeGreaterThan(10);
  });

  it("applies every field of devices in an embedded cluster, and reads it back", async () => {
    const { kubectl: program } = await kubernetesTools(release);
    const config = join(server.directory, "demo.kubeconfig");
    const own = await readFile(server.adminKubeconfig, "utf8");
    const inside = own.replace(
      /(server: "?https:\/\/[^/"\s]+)[^"\s]*/g,
      "$1/kubernetes/project/default/virtualcluster/demo",
    );
    await writeFile(config, inside, { mode: 0o600 });
    const kubectl = kubectlSession(
      () => config,
      () => join(server.directory, `cache-demo-${release}`),
      program,
    );
    // The cluster of the first start may not be there yet.
    await expect.poll(async () => (await kubectl(["get", "--raw", "/apis/resource.k8s.io/v1"])).code, WAIT).toBe(0);
    const applied = { groups: DEVICES, namespace: "default", name: "full", values: valuesOf(DEVICE_VALUES) };
    expect(await applyEveryField(kubectl, applied)).toBe(4);
  });
});
