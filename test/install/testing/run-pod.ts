// Runs the pod of a Deployment or StatefulSet as the kubelet does, as far as the manifests of Postern need it: volumes, init containers, arguments,
// users and probes. Needs root.

import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { succeed, tool } from "../../e2e/testing/postern-process.ts";
import { runCommand } from "./container-image.ts";
import { commandIn, enterNetwork, type Image, type Isolation } from "./dockerfile.ts";
import { startInstalled } from "./installed-server.ts";

export type PodOptions = {
  readonly image: Image;
  /** For its volumes. */
  readonly folder: string;
  /** All objects of the installation: ConfigMaps and Secrets that the pod mounts are among them. */
  readonly manifests: readonly any[];
};

export type RunningPod = AsyncDisposable & {
  /** `kubectl exec`: what a command line begins with. */
  readonly exec: readonly string[];
  /** `kubectl port-forward`: what a command line begins with that reaches the pod at 127.0.0.1. */
  readonly network: readonly string[];
  /** The folder of a volume. */
  readonly volume: (name: string) => string;
  readonly output: () => string;
  readonly stop: () => Promise<void>;
};

/** Resolves when its startup probe succeeds; then the others are asked once. */
export async function runPod({ image, folder, manifests }: PodOptions): Promise<RunningPod> {
  const { spec } = manifests.find(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
  const pod = spec.template.spec;
  const { runAsUser, runAsGroup, fsGroup } = pod.securityContext;
  const claims: readonly any[] = spec.volumeClaimTemplates ?? [];
  const writable = [...claims.map(({ metadata }) => metadata.name), ...pod.volumes.filter(isEmpty).map(nameOf)];
  for (const name of writable) {
    const path = join(folder, name);
    mkdirSync(path, { recursive: true });
    // As the kubelet hands a volume over: to the group, which new files inherit.
    chownSync(path, 0, fsGroup);
    chmodSync(path, 0o2775);
  }
  for (const { name, configMap, secret } of pod.volumes) {
    if (configMap === undefined && secret === undefined) continue;
    mkdirSync(join(folder, name), { recursive: true });
    const source = manifests.find(
      ({ kind, metadata }) =>
        metadata.name === (configMap?.name ?? secret.secretName) && kind === (configMap ? "ConfigMap" : "Secret"),
    );
    for (const [key, value] of Object.entries<string>(source.data)) {
      const path = join(folder, name, key);
      writeFileSync(path, secret === undefined ? value : Buffer.from(value, "base64"));
      chownSync(path, 0, fsGroup);
      chmodSync(path, secret?.defaultMode ?? 0o644);
    }
  }
  const isolationOf = (container: any): Isolation => ({
    user: `${runAsUser}:${runAsGroup}`,
    env: Object.fromEntries((container.env ?? []).map(({ name, value }: any) => [name, value])),
    volumes: Object.fromEntries(
      container.volumeMounts.map(({ name, mountPath, readOnly }: any) => [
        mountPath,
        { folder: join(folder, name), readOnly: readOnly ?? false },
      ]),
    ),
  });
  const commandOf = ({ command = image.entrypoint, args }: any): readonly string[] => [
    ...command,
    ...(args ?? (command === image.entrypoint ? image.cmd : [])),
  ];
  for (const container of pod.initContainers ?? [])
    await runCommand(commandIn(image, commandOf(container), isolationOf(container)));

  const [container] = pod.containers;
  expect(pod.containers).toHaveLength(1);
  const isolation = isolationOf(container);
  const [program = "", ...args] = commandIn(image, commandOf(container), { ...isolation, ownNetwork: true });
  const child = spawn(program, args);
  const server = await startInstalled(child);
  const network = enterNetwork(child.pid);
  const probe = ({ httpGet: { path, port, scheme } }: any): Promise<string> => {
    const { containerPort } = container.ports.find(({ name }: any) => name === port);
    const url = `${scheme.toLowerCase()}://127.0.0.1:${containerPort}${path}`;
    const [command = "", ...rest] = [...network, "curl", "--silent", "--insecure", "--fail", "--max-time", "1", url];
    return succeed(tool(command, rest));
  };
  await expect
    .poll(() =>
      probe(container.startupProbe).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await probe(container.readinessProbe);
  await probe(container.livenessProbe);
  return {
    exec: [...network, ...commandIn(image, [], isolation)],
    network,
    volume: (name) => join(folder, name),
    output: server.output,
    stop: server.stop,
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;
const isEmpty = (volume: object): boolean => "emptyDir" in volume;
