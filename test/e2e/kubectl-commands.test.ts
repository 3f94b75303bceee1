// The commands of kubectl that people use beside the daily ones, with real kubectls, on the management API and in an embedded virtual
// cluster alike: what each of them does, what it prints, and what an older kubectl says that does not have it.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ACCESS_KEY, CONFIG_MAP, type ExampleKind } from "./testing/example-kinds.ts";
import { kubectlsOnStores } from "./testing/kubectl-clients.ts";
import { useKubectlSurfaces } from "./testing/kubectl-surfaces.ts";
import { startTool, succeed, tool } from "./testing/postern-process.ts";

const RBAC = "rbac.authorization.k8s.io";

type Target = ExampleKind & {
  /** The arguments of kubectl. */
  readonly resource: string;
  /** As kubectl prints it. */
  readonly printed: string;
  readonly wideHeading: RegExp;
  readonly explained: RegExp;
};

const TARGETS: readonly Target[] = [
  {
    ...ACCESS_KEY,
    resource: "oak",
    printed: "ownedaccesskey.management.postern",
    wideHeading: /^NAME +OWNER +TYPE +SCOPE +DISABLED +STATUS +EXPIRES +USES +LAST USED +AGE$/m,
    explained: /scope\t<Object>\n(.*\n)? +clusters\t<\[\]Object>[\s\S]*ttlAfterLastActivity\t<boolean>/,
  },
  {
    ...CONFIG_MAP,
    resource: "cm",
    printed: "configmap",
    wideHeading: /^NAME +DATA +AGE$/m,
    explained: /binaryData\t<map\[string\]string>\n.*data\t<map\[string\]string>\n.*immutable\t<boolean>/,
  },
];

const { pairs, missing } = await kubectlsOnStores();

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("is tested with the others alone", () => {});
});

describe.each(pairs)("kubectl 1.$minor ($tag) on $storeName", (pair) => {
  const { program, minor, tag } = pair;
  const { file, managementConfig, virtualClusterConfig, management, inside, since } = useKubectlSurfaces(pair);

  describe.each(TARGETS)("in $where", (target) => {
    const { kind, apiVersion, resource, printed, namespace, content, valuePath } = target;
    const kubectl = namespace === undefined ? management : inside;
    const { run, fails, json } = kubectl;
    const kubeConfig = namespace === undefined ? managementConfig : virtualClusterConfig;
    const name = `commands-${tag}`;
    const object = (metadata: object, value = "one"): object => ({ apiVersion, kind, metadata, ...content(value) });
    const text = (metadata: object, value?: string): string => JSON.stringify(object(metadata, value));
    const list = (...items: readonly object[]): string => JSON.stringify({ apiVersion: "v1", kind: "List", items });
    const names = async (selector: string): Promise<readonly string[]> =>
      (await run(`get ${resource} -l ${selector} -o jsonpath={.items[*].metadata.name}`)).split(" ").filter(Boolean);

    it("creates, reads in every format, and describes", async () => {
      expect(await run("create -f -", text({ name, labels: { test: tag }, annotations: { note: "x" } }))).toBe(
        `${printed}/${name} created\n`,
      );
      expect(await run(`get ${resource} ${name} -o wide`)).toMatch(target.wideHeading);
      expect(await run(`get ${resource} ${name} -o yaml`)).toMatch(new RegExp(`^kind: ${kind}$`, "m"));
      expect(await run(`get ${resource} ${name} -o jsonpath={${valuePath}}`)).toBe("one");
      expect(await run(`get ${resource} ${name} -o go-template={{${valuePath}}}`)).toBe("one");
      expect(await run(`get ${resource} ${name} -o custom-columns=N:.metadata.name,V:${valuePath}`)).toMatch(
        new RegExp(`^N +V\n${name} +one\n$`),
      );
      expect(await run(`get ${resource} -l test=${tag} --show-labels --no-headers`)).toMatch(
        new RegExp(`^${name} .* test=${tag}\n$`),
      );
      expect(await run(`get ${resource} --sort-by=.metadata.creationTimestamp -o name`)).toContain(
        `${printed}/${name}\n`,
      );
      expect(await run(`describe ${resource} ${name}`)).toMatch(
        new RegExp(`^Name: +${name}\n[\\s\\S]*Labels: +test=${tag}\nAnnotations: +note: x\n[\\s\\S]*one`),
      );
      expect(await run(`explain ${resource} --recursive`)).toMatch(target.explained);
    });

    it("edits, annotates and labels", async () => {
      const edit = ["KUBE_EDITOR=sed -i s/one/edited/", program, "--kubeconfig", kubeConfig(), "edit", resource, name];
      expect(await succeed(tool("env", edit))).toBe(`${printed}/${name} edited\n`);
      expect(await run(`get ${resource} ${name} -o jsonpath={${valuePath}}`)).toBe("edited");
      const idle = ["KUBE_EDITOR=true", program, "--kubeconfig", kubeConfig(), "edit", resource, name];
      expect((await tool("env", idle)).stderr).toContain("Edit cancelled, no changes made.");
      await run(`annotate ${resource} ${name} a=b note-`);
      await run(`label ${resource} ${name} c=d`);
      expect(await fails(`label ${resource} ${name} c=e`)).toContain("--overwrite is false");
      await run(`annotate ${resource} ${name} a=c --overwrite`);
      const { metadata } = await json(`get ${resource} ${name}`);
      expect(metadata).toMatchObject({ annotations: { a: "c" }, labels: { test: tag, c: "d" } });
      expect(metadata.annotations).not.toHaveProperty("note");
    });

    it("replaces, and by force with another object of the same name", async () => {
      const { uid } = (await json(`get ${resource} ${name}`)).metadata;
      expect(await run("replace -f -", text({ name, labels: { test: tag } }, "two"))).toBe(
        `${printed}/${name} replaced\n`,
      );
      expect((await json(`get ${resource} ${name}`)).metadata).toMatchObject({ uid, labels: { test: tag } });
      await run("replace --force -f -", text({ name, labels: { test: tag } }, "three"));
      expect((await json(`get ${resource} ${name}`)).metadata.uid).not.toBe(uid);
      expect(await fails("replace -f -", text({ name: `no-${name}` }))).toContain("NotFound");
    });

    it("waits for the end of an object", async () => {
      const held = `${name}-held`;
      await run("create -f -", text({ name: held, finalizers: ["test/hold"] }));
      await run(`delete ${resource} ${held} --wait=false`);
      using waiting = startTool(program, [
        ...["--kubeconfig", kubeConfig(), "-v=6"],
        ...["wait", "--for=delete", `${resource}/${held}`, "--timeout=60s"],
      ]);
      await expect.poll(waiting.output).toContain("watch=true");
      expect(waiting.output()).not.toContain("condition met");
      await succeed(kubectl(["patch", resource, held, "--type=merge", "-p", '{"metadata":{"finalizers":null}}']));
      await expect.poll(waiting.output).toContain("condition met");
    });

    since(23, "waits for a value", `wait --for=jsonpath={.kind}=x ${resource}/x`, async () => {
      expect(await run(`wait --for=jsonpath={${valuePath}}=three ${resource}/${name} --timeout=60s`)).toContain("met");
      expect(await fails(`wait --for=jsonpath={${valuePath}}=x ${resource}/${name} --timeout=1s`)).toContain(
        "timed out",
      );
    });

    it("lists in pages", async () => {
      const label = { pages: tag };
      const five = ["a", "b", "c", "d", "e"].map((letter) => `${name}-${letter}`);
      await run("create -f -", list(...five.map((each) => object({ name: each, labels: label }))));
      const { stdout, stderr } = await kubectl([
        ...["get", resource, "-l", `pages=${tag}`, "--chunk-size=2", "-o", "name", "-v=8"],
      ]);
      expect(stdout.trim().split("\n")).toEqual(five.map((each) => `${printed}/${each}`));
      // Newer kubectls log fields, older ones lines; both have the addresses.
      const pages = new Set(stderr.match(/https:\/\/[^\s"]*(limit=2)[^\s"]*/g));
      expect(pages.size).toBe(3);
      expect([...pages].filter((page) => page.includes("continue="))).toHaveLength(2);
      expect(deletions(await run(`delete ${resource} -l pages=${tag}`))).toBe(
        five.map((each) => `${printed.replace("/", " ")} "${each}" deleted\n`).join(""),
      );
    });

    it("applies with --prune: what is in the file no more goes, and nothing else", async () => {
      const labels = { prune: tag };
      const allow = minor >= 26 ? "--prune-allowlist" : "--prune-whitelist";
      const group = apiVersion === "v1" ? "core/v1" : apiVersion;
      const line = `apply -l prune=${tag} --prune ${allow}=${group}/${kind} -f -`;
      const [kept, gone] = [object({ name: `${name}-kept`, labels }), object({ name: `${name}-gone`, labels })];
      await run("create -f -", text({ name: `${name}-foreign`, labels }));
      await run(line, list(kept, gone));
      expect(await names(`prune=${tag}`)).toEqual([`${name}-foreign`, `${name}-gone`, `${name}-kept`]);
      expect(await run(line, list(kept))).toContain(`${printed}/${name}-gone pruned\n`);
      // Objects that were not applied are not pruned.
      expect(await names(`prune=${tag}`)).toEqual([`${name}-foreign`, `${name}-kept`]);
      await run(`delete ${resource} -l prune=${tag}`);
    });

    since(27, "applies sets: what is in the file no more goes", "apply --applyset=x -f x", async () => {
      const parent = `--applyset=secret/set-${tag} -n default`;
      const env = ["KUBECTL_APPLYSET=true", program];
      const apply = (input: string) =>
        succeed(
          tool(
            "env",
            [...env, "--kubeconfig", kubeConfig(), "apply", "--prune", ...parent.split(" "), "-f", "-"],
            input,
          ),
        );
      const [kept, gone] = [object({ name: `${name}-set-kept` }), object({ name: `${name}-set-gone` })];
      await apply(list(kept, gone));
      const parts = await names("applyset.kubernetes.io/part-of");
      expect(parts).toEqual([`${name}-set-gone`, `${name}-set-kept`]);
      expect(await apply(list(kept))).toContain(`${printed}/${name}-set-gone pruned`);
      expect(await names("applyset.kubernetes.io/part-of")).toEqual([`${name}-set-kept`]);
      const { metadata } = await json(`get secret set-${tag} -n default`);
      expect(metadata.annotations["applyset.kubernetes.io/contains-group-kinds"]).toBe(
        apiVersion === "v1" ? kind : `${kind}.${apiVersion.split("/")[0]}`,
      );
      await run(`delete ${resource} ${name}-set-kept`);
    });

    it("applies and deletes what kustomize builds", async () => {
      const folder = file(`kustomize-${kind}`);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "object.json"), text({ name }, "kustomized"));
      const patch = [{ op: "add", path: "/metadata/labels", value: { by: "kustomize" } }];
      const kustomization = {
        namePrefix: "kust-",
        resources: ["object.json"],
        patchesJson6902: [{ target: { ...groupAndVersion(apiVersion), kind, name }, path: "patch.json" }],
      };
      await writeFile(join(folder, "patch.json"), JSON.stringify(patch));
      await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
      expect(await run(`kustomize ${folder}`)).toContain(`name: kust-${name}`);
      expect(await run(`apply -k ${folder}`)).toContain(`${printed}/kust-${name} created\n`);
      expect(await run(`apply -k ${folder}`)).toContain(`${printed}/kust-${name} unchanged\n`);
      expect(await run(`get ${resource} -l by=kustomize -o jsonpath={.items[0]${valuePath}}`)).toBe("kustomized");
      expect(await run(`delete -k ${folder}`)).toContain(`"kust-${name}" deleted`);
    });

    it("reconciles roles: adds missing rules, and removes others only on request", async () => {
      const rules = (...verbs: string[]) => [{ apiGroups: [""], resources: ["secrets"], verbs }];
      const role = { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: `role-${tag}` } };
      const subject = (user: string) => ({ apiGroup: RBAC, kind: "User", name: user });
      const binding = {
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: `role-${tag}` },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: `role-${tag}` },
      };
      const reconcile = async (flags: string, verb: string, user: string) => {
        const documents = list({ ...role, rules: rules(verb) }, { ...binding, subjects: [subject(user)] });
        await run(`auth reconcile ${flags} -f -`.replace("  ", " "), documents);
        const [{ rules: granted }, { subjects }] = [
          await json(`get clusterrole role-${tag}`),
          await json(`get clusterrolebinding role-${tag}`),
        ];
        return [granted.flatMap(({ verbs }: any) => verbs), subjects.map((each: any) => each.name)];
      };
      expect(await reconcile("", "get", "jane")).toEqual([["get"], ["jane"]]);
      expect(await reconcile("--dry-run=client", "list", "john")).toEqual([["get"], ["jane"]]);
      expect(await reconcile("", "list", "john")).toEqual([
        ["get", "list"],
        ["jane", "john"],
      ]);
      expect(await reconcile("--remove-extra-permissions --remove-extra-subjects", "list", "john")).toEqual([
        ["list"],
        ["john"],
      ]);
      // With an access key, acting as another is for the management API alone.
      const john = ["auth", "can-i", "list", "secrets", "-n", "default", "--as=john"];
      if (namespace === undefined) expect(await succeed(kubectl(john))).toBe("yes\n");
      await run(`delete clusterrole,clusterrolebinding role-${tag}`);
      if (namespace === undefined) expect(await kubectl(john)).toMatchObject({ code: 1, stdout: "no\n" });
    });

    it("says what one may do: one thing, with its exit code, and all of it", async () => {
      const canI = (line: string) => kubectl(["auth", "can-i", ...line.split(" ")]);
      for (const line of [
        `get ${resource}`,
        `delete ${resource}/some`,
        `create ${resource} -A`,
        `update ${resource} --subresource=status`,
        "get /metrics",
        "* *",
      ]) {
        expect([line, await canI(line)]).toEqual([line, expect.objectContaining({ code: 0, stdout: "yes\n" })]);
      }
      expect(await canI(`list ${resource} -q`)).toMatchObject({ code: 0, stdout: "" });
      // Resources that are not served may be allowed all the same; kubectl warns of them.
      const unknown = await canI("get gizmos");
      expect(unknown.stdout).toBe("yes\n");
      expect(unknown.stderr).toContain("the server doesn't have a resource type 'gizmos'");
      expect(await run("auth can-i --list")).toMatch(
        /^Resources +Non-Resource URLs +Resource Names +Verbs *\n[\s\S]*\*\.\* +/,
      );
      // With an access key, acting as another is for the management API alone.
      if (namespace !== undefined) return;
      const asNobody = (line: string) => canI(`${line} --as=nobody-${tag} --as-group=strangers`);
      expect(await asNobody("delete secrets")).toMatchObject({ code: 1, stdout: "no\n" });
      expect(await asNobody("delete secrets -q")).toMatchObject({ code: 1, stdout: "" });
      expect(await asNobody("get /metrics")).toMatchObject({ code: 1, stdout: "no\n" });
      const listed = await asNobody("--list");
      expect(listed.stdout).toMatch(/^selfsubjectaccessreviews\.authorization\.k8s\.io .*\[create\]$/m);
      expect(listed.stdout).not.toContain("[*]");
    });

    since(27, "says who it is", "auth whoami", async () => {
      expect(await run("auth whoami")).toMatch(/^ATTRIBUTE +VALUE\nUsername +admin\n/);
      const { status } = await json("auth whoami");
      expect(status.userInfo.groups).toContain("system:authenticated");
    });

    it("says of the commands that make no sense here why they do not", async () => {
      const plain = `${resource}/plain-${tag}`;
      await run("create -f -", text({ name: `plain-${tag}` }));
      // Built-in Kubernetes kinds have no path for it; for other kinds the object is looked up first.
      expect(await fails(`scale ${plain} --replicas=2`)).toMatch(
        /"plain-[\w-]+" not found|could not find the requested resource/,
      );
      expect(await fails(`rollout status ${plain}`)).toMatch(/no (status viewer|kind "\w+" is registered)/);
      expect(await fails(`rollout restart ${plain}`)).toMatch(
        /restarting is not supported|no kind "\w+" is registered/,
      );
      if (namespace === undefined) {
        expect(await fails("get pods")).toContain(`the server doesn't have a resource type "pods"`);
      } else {
        expect(await fails("run web --image=nginx")).toContain("this virtual cluster has no nodes");
      }
      expect(await fails("top nodes")).toContain("Metrics API not available");
    });

    it("lists verbs, short names and kinds of resources", async () => {
      const line =
        (await run("api-resources -o wide")).split("\n").find((each) => each.includes(` ${resource} `)) ?? "";
      for (const part of [apiVersion, kind, ...["create", "deletecollection", "list", "patch", "update", "watch"]]) {
        expect(line).toContain(part);
      }
      expect(await run("api-versions")).toContain(`${apiVersion}\n`);
    });

    it("deletes with a dry run, from a file, and all that a selector finds", async () => {
      expect(deletions(await run(`delete ${resource} ${name} --dry-run=server`))).toContain("deleted (server dry run)");
      expect(await run("delete -f -", text({ name }))).toContain(`"${name}" deleted`);
      expect(await run(`delete ${resource} -l test=${tag}`)).toBe("No resources found\n");
      expect(await fails(`get ${resource} ${name}`)).toContain("NotFound");
    });
  });
});

/** Since 1.34 it names the namespace as well. */
const deletions = (printed: string): string => printed.replaceAll(" from default namespace", "");

function groupAndVersion(apiVersion: string): { readonly group?: string; readonly version: string } {
  const [group, version] = apiVersion.split("/");
  return version === undefined || group === undefined ? { version: apiVersion } : { group, version };
}
