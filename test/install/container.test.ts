// The container image, made by the steps of the Dockerfile in clean roots, and started as container engines and the kubelet would: not as root,
// without capabilities, with a root file system that cannot be written. The pods are those of the Helm chart and of the kustomize base.

import { spawn } from "node:child_process";
import { chownSync, readFileSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { writeHelmCharts } from "../../tools/release/helm-charts.ts";
import { type KubernetesTools, kubernetesTools } from "../e2e/testing/kubernetes-tools.ts";
import { REPOSITORY, succeed, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";
import { buildImage, DOCKERFILE, LEFT_OUT, runCommand } from "./testing/container-image.ts";
import { commandIn, enterNetwork, type Image, type Isolation } from "./testing/dockerfile.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { runPod } from "./testing/run-pod.ts";
import { takeTour } from "./testing/tour.ts";

/** As the server is reached in the network of its container. */
const URL = "https://127.0.0.1:8443";

it("pins its base images by digest, and says what it is", () => {
  const text = readFileSync(DOCKERFILE, "utf8");
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(bases).toHaveLength(2);
  for (const base of bases) expect(base).toMatch(/^node:24-\S+@sha256:[0-9a-f]{64}$/);
  expect(text).toContain("org.opencontainers.image.revision");
});

it("copies the manifest of every package before it installs", () => {
  const text = readFileSync(DOCKERFILE, "utf8");
  const { workspaces } = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")).packages[""];
  expect(workspaces).toEqual(["packages/*"]);
  const locked = Object.keys(JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")).packages);
  for (const folder of locked.filter((path) => /^packages\/[^/]+$/.test(path)))
    expect(text).toContain(`COPY ${folder}/package.json ${folder}/`);
});

it("builds with nothing that .dockerignore keeps out", async () => {
  const { metafile } = await build({
    entryPoints: ["tools/bundle.ts", "tools/package.ts"],
    absWorkingDir: REPOSITORY,
    outdir: "/nowhere",
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    packages: "external",
  });
  const reached = new Set<string>();
  const reach = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const { path: next, kind } of metafile.inputs[path]?.imports ?? [])
      if (kind === "import-statement") reach(next);
  };
  for (const entry of ["tools/bundle.ts", "tools/package.ts"]) reach(entry);
  expect(reached).toContain("tools/release/npm-package.ts");
  expect([...reached].filter((path) => LEFT_OUT.includes(path.split("/")[0] ?? ""))).toEqual([]);
});

describe("the image", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let image: Image;
  let tools: KubernetesTools;
  const file = (name: string): string => join(directory.path, name);
  const made = async (name: string): Promise<string> => {
    await mkdir(file(name));
    return file(name);
  };

  beforeAll(async () => {
    directory = await temporaryDirectory();
    [image, tools] = await Promise.all([buildImage(directory.path), kubernetesTools("1.35")]);
  });
  afterAll(async () => await directory[Symbol.asyncDispose]());

  /** The guide's step for containers: the files of the tour are copied out of `/data`. */
  const copyForTour = async (data: string, target: string): Promise<void> => {
    await mkdir(join(target, "data"));
    for (const name of ["admin.kubeconfig", "ca.crt"]) await copyFile(join(data, name), join(target, "data", name));
  };

  it("serves the tour from a root that cannot be written, as a user without rights", async () => {
    expect(image).toMatchObject({ user: "1000:1000", volumes: ["/data"], cmd: ["serve"] });
    const data = await made("volume");
    chownSync(data, 1000, 1000);
    const isolation: Isolation = { volumes: { "/data": { folder: data } } };
    const serve = [...image.entrypoint, ...image.cmd];
    const [program = "", ...args] = commandIn(image, serve, { ...isolation, ownNetwork: true });
    const child = spawn(program, args);
    await using server = await startInstalled(child);
    const network = enterNetwork(child.pid);
    /** `docker exec`. */
    const exec = (...command: readonly string[]) => [...network, ...commandIn(image, command, isolation)];

    const reader = await made("reader");
    await copyForTour(data, reader);
    await takeTour({ url: URL, directory: reader, command: exec("postern"), run: network, isInContainer: true });
    await runCommand(exec("postern", "doctor"));
    await runCommand(exec(...image.healthCheck));
    await server.stop();
    const [check = "", ...rest] = commandIn(image, image.healthCheck, { ...isolation, ownNetwork: true });
    expect((await tool(check, rest)).code).toBe(1);
    const [touch = "", ...path] = commandIn(image, ["touch", "/app/x"], isolation);
    expect((await tool(touch, path)).stderr).toMatch(/Read-only file system|Permission denied/);
  });

  it.each([
    [
      "the packaged Helm chart",
      async () => {
        const [archive] = await writeHelmCharts(await made("helm"));
        return await succeed(tool(tools.helm, ["template", "postern", archive]));
      },
    ],
    [
      "the kustomize base, from a kustomization of the operator's own",
      async () => {
        const folder = await made("kustomize");
        await succeed(tool("cp", ["-r", join(REPOSITORY, "deploy/kustomize/base"), join(folder, "base")]));
        const kustomization = { namespace: "keys", resources: ["base"], images: [{ name: "postern", newName: "r/p" }] };
        await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
        return await succeed(tool(tools.kubectl, ["kustomize", folder]));
      },
    ],
  ])("serves the tour as the pod of %s", async (name, render) => {
    const manifests = parseAllDocuments(await render()).flatMap((document) => document.toJS() ?? []);
    const folder = await made(name.replaceAll(/\W+/g, "-"));
    await using pod = await runPod({ image, folder: join(folder, "volumes"), manifests });
    await copyForTour(pod.volume("data"), folder);
    await takeTour({
      url: URL,
      directory: folder,
      command: [...pod.exec, "postern"],
      run: pod.network,
      isInContainer: true,
    });
    await runCommand([...pod.exec, "postern", "doctor", "--config", "/config/postern.yaml"]);
    // The one command of a tour that writes into the file of a store runs in the pod: the volume is not the user's.
    await pod.stop();
    expect(pod.output()).not.toContain("Warning");
  });
});
