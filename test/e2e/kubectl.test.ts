// Everyday kubectl commands, run with real kubectls on the management API: every command's outcome, and its output.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byNight, casesOf } from "../../tools/test-cost/by-night.ts";
import { kubectlSession, kubectlsOnStores } from "./testing/kubectl-clients.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { startTool, succeed, tool } from "./testing/postern-process.ts";

const GROUP = "management.postern/v1";
const KIND = "ownedaccesskey.management.postern";
const DEMO = `/apis/${GROUP}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`;

const { pairs, missing } = await kubectlsOnStores();
let server: OwnServer;

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("is tested with the others alone", () => {});
});

describe.each(pairs)("kubectl 1.$minor ($tag) on $storeName", ({ program, minor, tag, newStore }) => {
  beforeAll(async () => {
    server = await startOwnServer(newStore());
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  const name = `key-${tag}`;
  const since = (least: number) => it.skipIf(minor < least);
  const kubectl = kubectlSession(
    () => server.adminKubeconfig,
    () => join(server.directory, "cache"),
    program,
  );
  const { run, fails } = kubectl;
  const manifest = (displayName: string, more: object = {}): string =>
    JSON.stringify({
      apiVersion: GROUP,
      kind: "OwnedAccessKey",
      metadata: { name, labels: { test: tag } },
      spec: { displayName, ttl: 3600, ...more },
    });
  const displayName = () => run(`get ownedaccesskey ${name} -o jsonpath={.spec.displayName}`);
  const managers = async (): Promise<readonly string[]> => {
    const { metadata } = JSON.parse(await run(`get --raw /apis/${GROUP}/ownedaccesskeys/${name}`));
    return metadata.managedFields.map(({ manager, operation }: any) => `${manager} ${operation}`);
  };

  it("discovers groups, versions and resources", async () => {
    expect((await run("api-versions")).split("\n")).toEqual(
      expect.arrayContaining([GROUP, "storage.postern/v1", "rbac.authorization.k8s.io/v1", "v1"]),
    );
    expect(await run("api-resources")).toMatch(
      /^ownedaccesskeys +oak +management\.postern\/v1 +false +OwnedAccessKey$/m,
    );
    expect(await run("api-resources --namespaced=true -o name")).toContain(
      "virtualclusterinstances.management.postern",
    );
    expect(await run("api-resources --verbs=create -o wide")).toMatch(/selves .*create/);
    expect(await run("version -o json")).toContain('"gitVersion": "v1.36.2+postern');
  });

  byNight("explains resources, wholly and field by field", async () => {
    const whole = await run("explain ownedaccesskeys --recursive");
    expect(whole).toMatch(/virtualClusters\t<\[\]Object>/);
    expect(await run("explain oak.spec.ttl")).toMatch(/<integer>[\s\S]*seconds/);
    for (const kind of ["projects", "virtualclusterinstances.spec.template", "users.spec", "teams", "selves"]) {
      expect(await run(`explain ${kind}`)).toContain("DESCRIPTION:");
    }
  });

  it("prints tables for every resource, and columns for the wide", async () => {
    expect(await run("get projects,users,teams")).toMatch(/project\.management\.postern\/default +Default +Ready/);
    const instances = () => run("get virtualclusterinstances -A");
    await expect.poll(instances).toMatch(/p-default +demo +embedded +Ready/);
    expect(await run("get clusters")).toMatch(/^embedded/m);
    expect(await run("get ownedaccesskeys -o wide")).toMatch(/NAME +OWNER +TYPE +SCOPE.*\nadmin +user\/admin +User/);
  });

  it("waits for conditions", async () => {
    expect(await run("wait virtualclusterinstance/demo -n p-default --for=condition=Ready --timeout=60s")).toContain(
      "met",
    );
    expect(await fails("wait virtualclusterinstance/demo -n p-default --for=condition=Never --timeout=1s")).toContain(
      "timed out",
    );
  });

  it("dry-runs a creation on the server, and leaves nothing", async () => {
    expect(await run("create --dry-run=server -f -", manifest("dry"))).toBe(
      `${KIND}/${name} created (server dry run)\n`,
    );
    expect(await fails(`get oak ${name}`)).toContain(
      `Error from server (NotFound): ownedaccesskeys.management.postern "${name}" not found`,
    );
  });

  it("creates once, and says why not twice", async () => {
    expect(await run("create -f -", manifest("one"))).toBe(`${KIND}/${name} created\n`);
    expect(await fails("create -f -", manifest("one"))).toContain(
      `Error from server (AlreadyExists): error when creating "STDIN": ownedaccesskeys.management.postern "${name}" already exists`,
    );
    await run(`delete oak ${name}`);
  });

  it("names the field that is wrong", async () => {
    expect(await fails("create -f -", manifest("bad", { ttl: -1 }))).toMatch(
      new RegExp(`The OwnedAccessKey "${name}" is invalid: spec\\.ttl: Invalid value: -1: `),
    );
    expect(await fails("create -f -", manifest("bad", { tll: 1 }))).toMatch(/unknown field "(spec\.)?tll"/);
  });

  it("applies, and distinguishes created, unchanged and configured", async () => {
    expect(await run("apply -f -", manifest("one"))).toBe(`${KIND}/${name} created\n`);
    expect(await run("apply -f -", manifest("one"))).toBe(`${KIND}/${name} unchanged\n`);
    expect(await run("apply --dry-run=server -f -", manifest("two"))).toBe(
      `${KIND}/${name} configured (server dry run)\n`,
    );
    expect(await run("apply -f -", manifest("two"))).toBe(`${KIND}/${name} configured\n`);
    expect(await displayName()).toBe("two");
    expect(await managers()).toEqual(["kubectl-client-side-apply Update"]);
  });

  it.each([
    ["client", []],
    ["server", ["--server-side", "--force-conflicts"]],
  ] as const)("diffs with exit code 1 when there is something to apply on the %s side", async (_, flags) => {
    const changed = await kubectl(["diff", ...flags, "-f", "-"], manifest("three"));
    expect(changed).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/- {2}displayName: two\n\+ {2}displayName: three/),
    });
    if (flags.length === 0)
      expect(await kubectl(["diff", "-f", "-"], manifest("two"))).toMatchObject({ code: 0, stdout: "" });
    expect(await displayName()).toBe("two");
  });

  it("goes over from client-side to server-side apply", async () => {
    expect(await run("apply --server-side -f -", manifest("two"))).toBe(`${KIND}/${name} serverside-applied\n`);
    expect(await managers()).toContain("kubectl Apply");
    if (minor >= 26) expect(await managers()).not.toContain("kubectl-client-side-apply Update");
  });

  it("shows conflicts of a server-side apply, and takes the fields over when forced", async () => {
    const other = ["apply", "--server-side", "--field-manager=other", "-f", "-"];
    const refused = await kubectl(other, manifest("three"));
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Apply failed with ") });
    expect(refused.stderr).toMatch(/conflicts? with "kubectl"/);
    expect(refused.stderr).toContain(".spec.displayName");
    expect(await displayName()).toBe("two");
    await succeed(kubectl([...other, "--force-conflicts"], manifest("three")));
    expect(await displayName()).toBe("three");
    expect(await managers()).toContain("other Apply");
  });

  it("patches by JSON and merge patch, and gets an error for strategic merge patches", async () => {
    const patch = (type: string, body: string) => kubectl(["patch", "oak", name, `--type=${type}`, "-p", body]);
    await succeed(
      patch(
        "json",
        '[{"op":"test","path":"/spec/displayName","value":"three"},{"op":"add","path":"/spec/description","value":"d"}]',
      ),
    );
    await succeed(patch("merge", '{"spec":{"displayName":"four","description":null}}'));
    const spec = JSON.parse(await run(`get oak ${name} -o json`)).spec;
    expect(spec).toEqual({ displayName: "four", ttl: 3600, user: "admin" });
    expect(await succeed(patch("merge", "{}"))).toContain("patched (no change)");
    const failed = await patch("json", '[{"op":"test","path":"/spec/displayName","value":"x"}]');
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /the server rejected our request due to an error in our request|The request is invalid/,
      ),
    });
    const strategic = await patch("strategic", '{"spec":{"displayName":"five"}}');
    expect(strategic.code).toBe(1);
    expect(strategic.stderr).toContain(
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json",
    );
    expect(await displayName()).toBe("four");
  });

  it("patches built-in resources strategically", async () => {
    const namespace = `strategic-${tag}`;
    await run(`create namespace ${namespace}`);
    await run(`create secret generic s -n ${namespace} --from-literal=a=b`);
    await succeed(kubectl(["patch", "secret", "s", "-n", namespace, "-p", '{"stringData":{"c":"d"}}']));
    expect(JSON.parse(await run(`get secret s -n ${namespace} -o json`)).data).toEqual({ a: "Yg==", c: "ZA==" });
    expect(await run(`delete namespace ${namespace}`)).toContain("deleted");
  });

  it("labels and annotates", async () => {
    await run(`label oak ${name} stage=one`);
    expect(await fails(`label oak ${name} stage=two`)).toContain("--overwrite is false");
    await run(`label oak ${name} stage=two --overwrite`);
    await run(`annotate oak ${name} note=this`);
    expect(await run(`get oak -l stage=two,test=${tag} -o name`)).toBe(`${KIND}/${name}\n`);
    expect(await run(`get oak -l stage!=two -o name`)).not.toContain(name);
    await run(`label oak ${name} stage-`);
    await run(`annotate oak ${name} note-`);
    const { labels, annotations } = JSON.parse(await run(`get oak ${name} -o json`)).metadata;
    expect(labels).toEqual({ test: tag });
    expect(annotations).not.toHaveProperty("note");
  });

  it("prints YAML, columns, names and fields", async () => {
    expect(await run(`get oak ${name} -o yaml`)).toMatch(/^kind: OwnedAccessKey$[\s\S]*^ {2}displayName: four$/m);
    const columns = await run(`get oak ${name} -o custom-columns=N:.metadata.name,T:.spec.ttl`);
    expect(columns.trim().split(/\s+/)).toEqual(["N", "T", name, "3600"]);
    expect(await run(`get oak ${name} -o name`)).toBe(`${KIND}/${name}\n`);
    expect(await run(`get oak --field-selector metadata.name=${name} --sort-by=.metadata.name -o name`)).toBe(
      `${KIND}/${name}\n`,
    );
    expect(await run("get oak -o name --chunk-size=1")).toContain(`${KIND}/admin`);
  });

  it("edits", async () => {
    const editor = [
      "env",
      "KUBE_EDITOR=sed -i s/four/edited/",
      program,
      "--kubeconfig",
      server.adminKubeconfig,
      "edit",
      "oak",
      name,
    ];
    await succeed(tool(editor[0]!, editor.slice(1)));
    expect(await displayName()).toBe("edited");
  });

  it("replaces, also by a manifest that leaves the owner out, and not over a newer version", async () => {
    const read = JSON.parse(await run(`get oak ${name} -o json`));
    await run("replace -f -", manifest("replaced"));
    const { spec } = JSON.parse(await run(`get oak ${name} -o json`));
    expect(spec).toEqual({ displayName: "replaced", ttl: 3600, user: "admin" });
    expect(await fails("replace -f -", JSON.stringify(read))).toContain(
      "the object has been modified; please apply your changes to the latest version",
    );
    const before = await run(`get oak ${name} -o jsonpath={.metadata.uid}`);
    expect(await run("replace --force -f -", manifest("forced"))).toContain("replaced");
    expect(await run(`get oak ${name} -o jsonpath={.metadata.uid}`)).not.toBe(before);
  });

  it("describes, with events", async () => {
    for (const disabled of [true, false])
      await run(`patch oak ${name} --type merge -p {"spec":{"disabled":${disabled}}}`);
    await expect.poll(() => run(`describe oak ${name}`)).toMatch(/Events:[\s\S]*Normal +Enabled/);
    expect(await run("describe project default")).toMatch(/Phase: +Ready/);
    expect(await run("describe virtualclusterinstance demo -n p-default")).toMatch(/Type: +Ready/);
    expect(await run("describe user admin")).toContain("Administrator");
    expect(await run("describe clusterrole postern:authenticated")).toContain("PolicyRule");
  });

  it("watches", async () => {
    const flags = [
      "--kubeconfig",
      server.adminKubeconfig,
      "get",
      "oak",
      "-l",
      `test=${tag}`,
      "-w",
      "--output-watch-events",
    ];
    using watch = startTool(program, flags);
    await expect.poll(watch.output).toMatch(new RegExp(`ADDED +${name}`));
    await run(`label oak ${name} seen=yes`);
    await expect.poll(watch.output).toMatch(new RegExp(`MODIFIED +${name}`));
    await run(`label oak ${name} test-`);
    await expect.poll(watch.output).toMatch(new RegExp(`DELETED +${name}`));
    await run(`label oak ${name} test=${tag}`);
  });

  it("asks what it may do", async () => {
    expect(await run("auth can-i create ownedaccesskeys")).toBe("yes\n");
    expect(await run("auth can-i --list")).toMatch(/^\*\.\* .*\[\*\]$/m);
    expect(await kubectl(["auth", "can-i", "delete", "users", "--as=nobody"])).toMatchObject({
      code: 1,
      stdout: "no\n",
    });
    expect(await run("auth can-i --list --as=nobody")).toMatch(/^ownedaccesskeys\.management\.postern .*create/m);
    expect(await run("auth can-i use virtualclusterinstances/demo -n p-default")).toBe("yes\n");
  });

  since(27)("runs auth whoami", async () => {
    expect(await run("auth whoami")).toMatch(/Username +admin\n[\s\S]*postern:admins/);
  });

  byNight("posts to a path", async () => {
    const request = join(server.directory, `request-${tag}.json`);
    await writeFile(request, '{"spec":{"certificateTTL":900}}');
    const { status } = JSON.parse(await run(`create --raw ${DEMO} -f ${request}`));
    expect(status.kubeConfig).toContain("token: pst_");
    expect(await run("get --raw /readyz")).toBe("ok");
    expect(await fails("get --raw /apis/nothing/v1")).toContain("Error from server (NotFound)");
  });

  it.each(casesOf(["background", "foreground", "orphan"], (each) => each === "foreground"))(
    "deletes with --cascade=%s",
    async (cascade) => {
      const parent = `parent-${cascade}-${tag}`;
      const key = (metadata: object) =>
        JSON.stringify({ apiVersion: GROUP, kind: "OwnedAccessKey", metadata, spec: {} });
      await run("create -f -", key({ name: parent }));
      const uid = await run(`get oak ${parent} -o jsonpath={.metadata.uid}`);
      const owner = { apiVersion: GROUP, kind: "OwnedAccessKey", name: parent, uid, blockOwnerDeletion: true };
      await run("create -f -", key({ name: `${parent}-child`, ownerReferences: [owner] }));
      expect(await run(`delete oak ${parent} --cascade=${cascade} --timeout=60s`)).toBe(
        `${KIND} "${parent}" deleted\n`,
      );
      const child = () => kubectl(["get", "oak", `${parent}-child`, "-o", "jsonpath={.metadata.ownerReferences}"]);
      if (cascade === "orphan") {
        await expect.poll(child).toMatchObject({ code: 0, stdout: "" });
        await run(`delete oak ${parent}-child`);
      } else {
        await expect.poll(child).toMatchObject({ code: 1, stderr: expect.stringContaining("NotFound") });
      }
    },
  );

  it("manages people, projects and virtual clusters from one file to its end", async () => {
    const project = `shop-${tag}`;
    const metadata = { name: "store", namespace: `p-${project}` };
    const documents = [
      { apiVersion: GROUP, kind: "User", metadata: { name: `jane-${tag}` }, spec: { displayName: "Jane" } },
      {
        apiVersion: GROUP,
        kind: "Team",
        metadata: { name: `devs-${tag}` },
        spec: { displayName: "Devs", users: [`jane-${tag}`] },
      },
      {
        apiVersion: GROUP,
        kind: "Project",
        metadata: { name: project },
        spec: { members: [{ kind: "Team", name: `devs-${tag}`, clusterRole: "postern:project-user" }] },
      },
    ];
    for (const document of documents) await run("apply -f -", JSON.stringify(document));
    await run(`wait project/${project} --for=condition=NamespaceReady --timeout=60s`);
    await run(
      "apply -f -",
      JSON.stringify({ apiVersion: GROUP, kind: "VirtualClusterInstance", metadata, spec: { displayName: "Store" } }),
    );
    await run(`wait virtualclusterinstance/store -n p-${project} --for=condition=Ready --timeout=60s`);
    const jane = [`--as=jane-${tag}`, `--as-group=postern:team:devs-${tag}`, "--as-group=system:authenticated"];
    expect(await succeed(kubectl(["get", "projects", "-o", "name", ...jane]))).toBe(
      `project.management.postern/${project}\n`,
    );
    await run(`delete virtualclusterinstance store -n p-${project} --timeout=60s`);
    await run(`delete project ${project} --timeout=60s`);
    await expect.poll(() => kubectl(["get", "namespace", `p-${project}`])).toMatchObject({ code: 1 });
    await run(`delete team/devs-${tag} user/jane-${tag}`);
  });

  it("deletes what a selector names, and not what is not there", async () => {
    expect(await run(`delete oak -l test=${tag}`)).toContain(`"${name}" deleted`);
    expect(await run(`delete oak ${name} --ignore-not-found`)).toBe("");
    expect(await fails(`delete oak ${name}`)).toContain("NotFound");
  });
});
