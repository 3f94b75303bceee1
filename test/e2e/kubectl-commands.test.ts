// The commands of kubectl that people use beside the daily ones, with real kubectls, on the management API and in an embedded virtual
// cluster alike: what each of them does, what it prints, and what an older kubectl says that does not have it.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubectlSession, kubectlsOnStores } from "./testing/kubectl-clients.ts";
import {
  type PosternProcess,
  startPostern,
  startTool,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";

const MANAGEMENT = "management.postern/v1";
const RBAC = "rbac.authorization.k8s.io";

type Target = {
  readonly where: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** As kubectl is told it. */
  readonly resource: string;
  /** As kubectl prints it. */
  readonly printed: string;
  /** Where the objects are; undefined where they are in no namespace. */
  readonly namespace: string | undefined;
  /** What is in the object beside its metadata. */
  readonly content: (value: string) => object;
  readonly valuePath: string;
  readonly wideHeading: RegExp;
  readonly explained: RegExp;
};

const TARGETS: readonly Target[] = [
  {
    where: "the management API",
    kind: "OwnedAccessKey",
    apiVersion: MANAGEMENT,
    resource: "oak",
    printed: "ownedaccesskey.management.postern",
    namespace: undefined,
    content: (value) => ({ spec: { displayName: value, user: "admin" } }),
    valuePath: ".spec.displayName",
    wideHeading: /^NAME +OWNER +TYPE +SCOPE +DISABLED +EXPIRES +LAST USED +AGE$/m,
    explained: /scope\t<Object>\n(.*\n)? +clusters\t<\[\]Object>[\s\S]*ttlAfterLastActivity\t<boolean>/,
  },
  {
    where: "a virtual cluster",
    kind: "ConfigMap",
    apiVersion: "v1",
    resource: "cm",
    printed: "configmap",
    namespace: "default",
    content: (value) => ({ data: { value } }),
    valuePath: ".data.value",
    wideHeading: /^NAME +DATA +AGE$/m,
    explained: /binaryData\t<map\[string\]string>\n.*data\t<map\[string\]string>\n.*immutable\t<boolean>/,
  },
];

const { pairs, missing } = await kubectlsOnStores();

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("is tested with the others alone", () => {});
});

describe.each(pairs)("kubectl 1.$minor ($tag) on $storeName", ({ program, minor, tag, storeName, newStore }) => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let virtualCluster: string;
  let store: readonly string[];
  const file = (name: string): string => join(directory.path, name);
  const management = kubectlSession(
    () => server.adminKubeConfig,
    () => file("cache"),
    program,
  );
  const inside = kubectlSession(
    () => virtualCluster,
    () => file("cache"),
    program,
  );
  /** A test for kubectls that have it; of older ones the test is that they say so. */
  const since = (least: number, name: string, line: string, works: () => Promise<void>): void => {
    if (minor >= least) it(name, works);
    else
      it(`${name}: not before kubectl 1.${least}, which says so`, async () => {
        expect(await inside.fails(line)).toMatch(
          /unknown (command|flag)|unrecognized|must specify one of -f and -k|before plugin name/i,
        );
      });
  };

  beforeAll(async () => {
    directory = await temporaryDirectory();
    store = newStore();
    server = await startPostern(file("data"), store);
    virtualCluster = file("demo.kubeconfig");
    const path = `/apis/${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`;
    const { status } = JSON.parse(await management.run(`create --raw ${path} -f -`, "{}"));
    await writeFile(virtualCluster, status.kubeConfig, { mode: 0o600 });
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  describe.each(TARGETS)("in $where", (target) => {
    const { kind, apiVersion, resource, printed, namespace, content, valuePath } = target;
    const kubectl = namespace === undefined ? management : inside;
    const { run, fails, json } = kubectl;
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
      const config = namespace === undefined ? server.adminKubeConfig : virtualCluster;
      const edit = ["KUBE_EDITOR=sed -i s/one/edited/", program, "--kubeconfig", config, "edit", resource, name];
      expect(await succeed(tool("env", edit))).toBe(`${printed}/${name} edited\n`);
      expect(await run(`get ${resource} ${name} -o jsonpath={${valuePath}}`)).toBe("edited");
      const idle = ["KUBE_EDITOR=true", program, "--kubeconfig", config, "edit", resource, name];
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
        ...["--kubeconfig", namespace === undefined ? server.adminKubeConfig : virtualCluster, "-v=6"],
        ...["wait", "--for=delete", `${resource}/${held}`, "--timeout=60s"],
      ]);
      await expect.poll(waiting.output).toContain("watch=true");
      expect(waiting.output()).not.toContain("condition met");
      await succeed(kubectl(["patch", resource, held, "--type=merge", "-p", '{"metadata":{"finalizers":null}}']));
      await expect.poll(waiting.output).toContain("condition met");
    });

    since(23, "waits for a value", `wait --for=jsonpath={.kind}=x ${resource}/x`, async () => {
      expect(await run(`wait --for=jsonpath={${valuePath}}=three ${resource}/${name} --timeout=20s`)).toContain("met");
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
      expect(await run(`delete ${resource} -l pages=${tag}`)).toBe(
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
      // What was not applied is not pruned.
      expect(await names(`prune=${tag}`)).toEqual([`${name}-foreign`, `${name}-kept`]);
      await run(`delete ${resource} -l prune=${tag}`);
    });

    since(27, "applies sets: what is in the file no more goes", "apply --applyset=x -f x", async () => {
      const parent = `--applyset=secret/set-${tag} -n default`;
      const env = ["KUBECTL_APPLYSET=true", program];
      const config = namespace === undefined ? server.adminKubeConfig : virtualCluster;
      const apply = (input: string) =>
        succeed(
          tool("env", [...env, "--kubeconfig", config, "apply", "--prune", ...parent.split(" "), "-f", "-"], input),
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

    it("reconciles roles: adds what is missing, and takes away only when told to", async () => {
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

    since(27, "says who it is", "auth whoami", async () => {
      expect(await run("auth whoami")).toMatch(/^ATTRIBUTE +VALUE\nUsername +admin\n/);
      const { status } = await json("auth whoami");
      expect(status.userInfo.groups).toContain("system:authenticated");
    });

    it("says of the commands that make no sense here why they do not", async () => {
      const plain = `${resource}/plain-${tag}`;
      await run("create -f -", text({ name: `plain-${tag}` }));
      // What Kubernetes brings along has no path for it; elsewhere the object is looked for first.
      expect(await fails(`scale ${plain} --replicas=2`)).toMatch(
        /"plain-\w+" not found|could not find the requested resource/,
      );
      expect(await fails(`rollout status ${plain}`)).toMatch(/no (status viewer|kind "\w+" is registered)/);
      expect(await fails(`rollout restart ${plain}`)).toMatch(
        /restarting is not supported|no kind "\w+" is registered/,
      );
      expect(await fails("get pods")).toContain(`the server doesn't have a resource type "pods"`);
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
      expect(await run(`delete ${resource} ${name} --dry-run=server`)).toContain("deleted (server dry run)");
      expect(await run("delete -f -", text({ name }))).toContain(`"${name}" deleted`);
      expect(await run(`delete ${resource} -l test=${tag}`)).toBe("No resources found\n");
      expect(await fails(`get ${resource} ${name}`)).toContain("NotFound");
    });
  });

  it("goes from one cluster to the other by the contexts of one kube config", async () => {
    const both = file("both.kubeconfig");
    const flattened = await tool("env", [
      `KUBECONFIG=${server.adminKubeConfig}:${virtualCluster}`,
      ...[program, "config", "view", "--flatten", "--raw", "-o", "json"],
    ]);
    await writeFile(both, flattened.stdout, { mode: 0o600 });
    const { run, fails } = kubectlSession(
      () => both,
      () => file("cache"),
      program,
    );
    const contexts = (await run("config get-contexts -o name")).trim().split("\n");
    expect(contexts).toContain("vcluster");
    expect(contexts).toHaveLength(2);
    expect(await run("config use-context vcluster")).toContain('Switched to context "vcluster".');
    expect(await run("config current-context")).toBe("vcluster\n");
    expect(await run("get cm -o name -n default")).toContain("configmap/kube-root-ca.crt");
    await run("config set-context --current --namespace=kube-system");
    expect(await run("get cm -o name")).toContain("configmap/extension-apiserver-authentication");
    expect(await fails("get cm --token=pst_wrong")).toContain("platform access key not found. Please login again");
    await run("config delete-context vcluster");
    expect(await fails("config use-context vcluster")).toContain("no context exists with the name");
  });

  since(24, "makes tokens of service accounts, which do what the account may", "create token robot", async () => {
    await inside.run("create serviceaccount robot -n default");
    await inside.run("create clusterrolebinding robot --clusterrole=view --serviceaccount=default:robot");
    const token = (await inside.run("create token robot -n default --duration=20m")).trim();
    const config = file("robot.kubeconfig");
    const own = await inside.json("config view --raw");
    await writeFile(config, JSON.stringify({ ...own, users: [{ name: "vcluster", user: { token } }] }), {
      mode: 0o600,
    });
    const robot = kubectlSession(
      () => config,
      () => file("cache"),
      program,
    );
    expect(await robot.run("get cm -o name -n default")).toContain("configmap/kube-root-ca.crt");
    expect(await robot.fails("create cm x -n default")).toContain(
      'User "system:serviceaccount:default:robot" cannot create resource "configmaps"',
    );
    expect(await management.fails("create token robot -n default")).toMatch(/NotFound|could not find/);
    await inside.run("delete serviceaccount robot -n default");
    expect(await robot.fails("get cm -n default")).toContain("Unauthorized");
  });

  since(24, "reads and writes the status by itself", "get cm --subresource=status", async () => {
    const instance = "virtualclusterinstance demo -n p-default";
    expect(await management.run(`get ${instance} --subresource=status -o jsonpath={.status.phase}`)).toBe("Ready");
    const patch = ["patch", ...instance.split(" "), "--subresource=status", "--type=merge", "-p"];
    await succeed(management([...patch, '{"status":{"deployHash":"x"},"spec":{"displayName":"not by status"}}']));
    const { spec, status } = await management.json(`get ${instance}`);
    expect([status.deployHash, spec.displayName]).toEqual(["x", "Demo"]);
  });

  since(26, "lists events", "events", async () => {
    await management.run(
      "create -f -",
      JSON.stringify({ apiVersion: MANAGEMENT, kind: "OwnedAccessKey", metadata: { name: "event" } }),
    );
    await expect
      .poll(() => management.run("events -A --for=ownedaccesskeys.management.postern/event"))
      .toMatch(/Normal +Created +OwnedAccessKey\/event/);
  });

  it("knows the resources of the platform by their short names, and prints what they are about", async () => {
    expect(await management.run("get vci -n p-default")).toMatch(
      /^NAME +CLUSTER +PHASE +VERSION +AGE\ndemo +embedded +Ready +v1\.\S+ +\d+\w+\n$/,
    );
    expect(await management.run("get proj,users,clusters")).toMatch(
      /project\.management\.postern\/default +Default +Ready/,
    );
    expect(await management.run("get users")).toMatch(
      /^NAME +DISPLAY NAME +EMAIL +LOCKED +AGE\nadmin +Administrator +false +/,
    );
    expect(await management.run("get spi -A -o name")).toBe("");
    const scope = { projects: [{ project: "default" }], clusters: [{ cluster: "embedded" }] };
    const spec = { ttl: 7200, scope };
    const key = JSON.parse(
      await management.run(
        "create -o json -f -",
        JSON.stringify({ apiVersion: MANAGEMENT, kind: "OwnedAccessKey", metadata: { name: "short" }, spec }),
      ),
    );
    const row = () => management.run("get oak short --no-headers");
    expect(await management.run("get oak short")).toMatch(
      /^NAME +OWNER +SCOPE +DISABLED +EXPIRES +LAST USED +AGE\nshort +user\/admin +projects:1,clusters:1 +false +(119m|120m|2h) +never +\d+s\n$/,
    );
    const config = file("short.kubeconfig");
    const own = await management.json("config view --raw");
    const users = [{ name: own.users[0].name, user: { token: key.spec.key } }];
    await writeFile(config, JSON.stringify({ ...own, users }), { mode: 0o600 });
    await kubectlSession(
      () => config,
      () => file("cache"),
      program,
    ).run("get cluster embedded");
    // Uses are written down once a minute, and when the server stops.
    if (storeName !== "memory") {
      const { port } = new URL(server.url);
      expect(await server.stop()).toBe(0);
      server = await startPostern(server.dataDir, [...store, "--secure-port", port]);
      expect(await row()).toMatch(/ (11\dm|120m|2h) +\d+s +\d+m?\d*s?\n$/);
    }
    expect(await management.run("get ak short -o wide")).toMatch(
      /^short +user\/admin +(User)? +projects:1,clusters:1 +false/m,
    );
    expect(await management.run("explain vci.spec.clusterRef")).toContain("DESCRIPTION:");
  });
});

function groupAndVersion(apiVersion: string): { readonly group?: string; readonly version: string } {
  const [group, version] = apiVersion.split("/");
  return version === undefined || group === undefined ? { version: apiVersion } : { group, version };
}
