// A platform team takes tenants on: one file with their users, teams, projects, roles, virtual clusters and keys, applied by the real kubectl in one go,
// from the client and on the server, in any order of kinds, through one server and through two.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { kubectlWith, succeed } from "./testing/postern-process.ts";
import { documents, type Manifest, manifest, TENANTS, tenant, tenants } from "./testing/tenants.ts";

const GROUP = "management.postern/v1";

let server: OwnServer;
let kubectl: (line: string, input?: string) => ReturnType<ReturnType<typeof kubectlWith>>;

beforeAll(async () => {
  server = await startOwnServer();
  const run = kubectlWith(
    server.adminKubeconfig,
    join(server.directory, "cache"),
    (await kubernetesTools("1.35")).kubectl,
  );
  kubectl = (line, input) => run(line.split(" "), input);
});
afterAll(() => server?.[Symbol.asyncDispose]());

const lines = (text: string): readonly string[] => text.trim().split("\n");

describe("one file for all tenants", () => {
  it.each([
    ["from the client", "apply", "created"],
    ["on the server", "apply --server-side", "serverside-applied"],
  ])("is applied %s in one go, and changes nothing the second time", async (where, apply, verb) => {
    const prefix = where === "on the server" ? "s" : "c";
    // From the client and on the server, both with half of the tenants.
    const manifests = tenants(prefix, Math.ceil(TENANTS / 2));
    const folder = join(server.directory, prefix);
    await mkdir(folder);
    await writeFile(join(folder, "tenants.yaml"), documents(manifests));
    const first = await kubectl(`${apply} -f ${folder}`);
    expect([first.code, first.stderr.replaceAll(/^Warning: .*\n/gm, "")]).toEqual([0, ""]);
    expect(lines(first.stdout)).toHaveLength(manifests.length);
    for (const line of lines(first.stdout)) expect(line).toMatch(new RegExp(` ${verb}$`));
    // The only warnings are of keys whose values have not been shown to any client.
    for (const warning of lines(first.stderr).filter(Boolean)) expect(warning).toContain("spec.secretRef");

    const versions = () =>
      succeed(kubectl(`get projects,teams,users,ownedaccesskeys -o jsonpath={.items[*].metadata.generation}`));
    const before = await versions();
    const again = await kubectl(`${apply} -f ${folder}`);
    expect([again.code, again.stderr]).toEqual([0, ""]);
    if (verb === "created") for (const line of lines(again.stdout)) expect(line).toMatch(/ unchanged$/);
    expect(await versions()).toBe(before);
    if (verb === "created") expect(await kubectl(`diff -f ${folder}`)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("is ready when kubectl waits for it, whatever the kind", async () => {
    const kinds = "projects,users,clusters";
    expect(
      lines(await succeed(kubectl(`wait --for=condition=Ready ${kinds} --all --timeout=120s`))).length,
    ).toBeGreaterThan(2 * (TENANTS / 2));
    await succeed(kubectl("wait --for=condition=Ready virtualclusterinstances --all --all-namespaces --timeout=120s"));
  });
});

describe("kinds in another order", () => {
  it("gives warnings that name the field, and no refusal", async () => {
    const [user, team, project, , , instance] = tenant("later");
    const first = await kubectl("apply -f -", documents([team, project] as Manifest[]));
    expect(first.code).toBe(0);
    // The team has come by then.
    expect(lines(first.stderr)).toEqual(['Warning: spec.users[0]: there is no user "later-lead" that you can see']);

    const reversed = await kubectl(
      "apply -f -",
      documents([project, team, user, instance].map((each) => rename(each, "later", "early"))),
    );
    expect(reversed.code).toBe(0);
    expect(lines(reversed.stderr)).toEqual([
      'Warning: spec.members[0].name: there is no team "early" that you can see',
      'Warning: spec.users[0]: there is no user "early-lead" that you can see',
    ]);

    const slips = await kubectl(
      "apply -f -",
      documents([
        manifest(GROUP, "Project", "slips", {
          spec: {
            members: [{ kind: "User", name: "admin", clusterRole: "postern:project-usr" }],
            allowedClusters: [{ name: "embedded" }, { name: "far" }],
          },
        }),
        manifest(
          GROUP,
          "VirtualClusterInstance",
          "far",
          { spec: { clusterRef: { cluster: "far" }, access: [{ verbs: ["get"], users: ["nobody"] }] } },
          "p-slips",
        ),
      ]),
    );
    expect(slips.code).toBe(0);
    expect(lines(slips.stderr)).toEqual([
      'Warning: spec.members[0].clusterRole: there is no ClusterRole "postern:project-usr"',
      'Warning: spec.allowedClusters[1].name: there is no cluster "far"',
      'Warning: spec.access[0].users[0]: there is no user "nobody" that you can see',
      'Warning: spec.clusterRef.cluster: there is no cluster "far"',
    ]);
  });
});

const rename = (each: Manifest | undefined, from: string, to: string): Manifest =>
  JSON.parse(JSON.stringify(each).replaceAll(from, to));
