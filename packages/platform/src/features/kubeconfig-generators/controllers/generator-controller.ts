// Keeps the Secrets of kubeconfig generators current, and revokes their credentials when they are deleted.

import { withCondition } from "@postern/api/conditions";
import { hasFinalizer, withoutFinalizer } from "@postern/api/finalizers";
import type { KubeconfigGenerator, KubeconfigGeneratorStatus } from "@postern/api/kubeconfig-generator";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import {
  CONTROLLER_WRITE,
  type Controller,
  type ControllerPort,
  contextOf,
} from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Foundation } from "../../../foundation/foundation.ts";
import { generatorFinalizer } from "../kinds/kubeconfig-generators/strategy.ts";
import { createFleetPass } from "./fleet-pass.ts";
import type { FleetState } from "./fleet-state.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

/** Others have their turn: a generator may have a thousand virtual clusters. */
const CONCURRENCY = 2;

export function createGeneratorController(
  port: Omit<ControllerPort, "resources">,
  base: Foundation,
  needs: GeneratorNeeds,
): Controller {
  const { names, lookup, own, installed } = base;
  const { keys, mint, kinds, endpoint } = needs;
  const { revoke } = mint;
  const [generators, instances] = [own("KubeconfigGenerator"), own("VirtualClusterInstance")];
  const [accessKeys, projects] = [own("OwnedAccessKey"), own("Project")];
  const secretResource = installed("", "Secret");
  const { clock, scheduler } = port.runtime;
  const finalizer = generatorFinalizer(names);
  const pass = createFleetPass(base, needs);
  /** Keys of generators by the access key that they use. */
  const byAccessKey = new Map<string, string>();
  const queue = new WorkQueue(port, { name: "kubeconfig_generator", process, concurrency: CONCURRENCY });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // The store holds no other kind under this resource.
    const generator = generators.view.get(key)?.decode() as KubeconfigGenerator | undefined;
    if (generator === undefined) return;
    const accessKey = generator.status?.accessKey ?? "";
    if (isBeingDeleted(generator)) {
      byAccessKey.delete(accessKey);
      return await ignoringConflicts(() => remove(generator, signal));
    }
    byAccessKey.set(accessKey, key);
    await keys.index.whenRead();
    // Another server may just have written the access key.
    await lookup.refresh(signal);
    await ignoringConflicts(async () => {
      const state = await pass(generator, signal);
      await record(generator, state, signal);
      if (state.nextMs === 0) queue.add(key);
      else queue.addAfter(key, state.nextMs);
    });
  }

  async function record(generator: KubeconfigGenerator, state: FleetState, signal: AbortSignal): Promise<void> {
    const { name = "", namespace = "", uid = "", generation = 1 } = generator.metadata;
    const { previousAccessKey } = generator.status ?? {};
    if (state.isPreviousOver && previousAccessKey !== undefined) await revoke(previousAccessKey, signal);
    const statusOf = (before: KubeconfigGeneratorStatus): KubeconfigGeneratorStatus => {
      const { previousAccessKey: previous, ...rest } = before;
      const isOver = state.isPreviousOver && previous === previousAccessKey;
      return {
        ...rest,
        ...(previous === undefined || isOver ? {} : { previousAccessKey: previous }),
        observedGeneration: generation,
        selected: state.selected,
        ready: state.clusters.filter(({ accessKey }) => accessKey !== undefined).length,
        clusters: state.clusters,
        conditions: withCondition(before.conditions ?? [], state.ready, clock.now()),
      };
    };
    const asJson = (status: KubeconfigGeneratorStatus): JsonValue => status as JsonObject;
    if (equalJson(asJson(statusOf(generator.status ?? {})), asJson(generator.status ?? {}))) return;
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      status: statusOf((current as KubeconfigGenerator).status ?? {}) as JsonObject,
    });
    const subresource = "status";
    const context = contextOf(port, { verb: "update", resource: generators, subresource, namespace, name }, signal);
    await kinds.writes.during(context, () =>
      generators.genericStore.update(context, namespace, name, { uid, transform, subresource }, CONTROLLER_WRITE),
    );
  }

  /** The Secrets have an owner reference to the generator, and the access keys one to its key. */
  async function remove(generator: KubeconfigGenerator, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(generator, finalizer)) return;
    for (const name of [generator.status?.accessKey, generator.status?.previousAccessKey])
      if (name !== undefined) await revoke(name, signal);
    const transform = (current: KubeObject): KubeObject => withoutFinalizer(current, finalizer);
    await updateControlled(port, generators, generator, { transform }, signal);
  }

  const addIn = (namespace: string, isFor: (generator: KubeObject) => boolean = () => true): void => {
    for (const object of generators.view.list(generators.keys.inNamespace(namespace)))
      if (isFor(object.decode())) queue.add(object.key);
  };

  /** The part of each virtual cluster that its credentials follow from: its status changes all the time. */
  const seen = new Map<string, string>();
  const onInstance = (key: string): void => {
    const { namespace } = instances.keys.parse(key);
    if (generators.view.count(generators.keys.inNamespace(namespace)) === 0) return void seen.delete(key);
    const instance = instances.view.get(key)?.decode();
    const { uid, labels, generation, deletionTimestamp } = instance?.metadata ?? {};
    const part = instance === undefined ? "" : JSON.stringify([uid, labels, generation, deletionTimestamp ?? null]);
    if (seen.get(key) === part) return;
    if (part === "") seen.delete(key);
    else seen.set(key, part);
    addIn(namespace);
  };
  const onSecret = (key: string): void => {
    const { namespace, name } = secretResource.keys.parse(key);
    if (generators.view.count(generators.keys.inNamespace(namespace)) === 0) return;
    addIn(namespace, (object) => {
      const { name: own } = (object as KubeconfigGenerator).spec.secretRef;
      return name === own || name.startsWith(`${own}-`);
    });
  };
  const onAccessKey = (key: string): void => {
    const generator = byAccessKey.get(accessKeys.keys.parse(key).name);
    if (generator !== undefined) queue.add(generator);
  };
  /** Members come and go. */
  const onProject = (key: string): void => addIn(names.projectNamespace(projects.keys.parse(key).name));
  const onAuthority = (): void => {
    for (const { key } of generators.view.list(generators.keys.prefix)) queue.add(key);
  };
  const followed = endpoint.onAuthorityChange?.(onAuthority);
  return createQueueController(queue, [
    ...(followed === undefined ? [] : [followed]),
    followKeys(generators, scheduler, (key) => queue.add(key)),
    followKeys(instances, scheduler, onInstance),
    followKeys(secretResource, scheduler, onSecret),
    followKeys(accessKeys, scheduler, onAccessKey),
    followKeys(projects, scheduler, onProject),
  ]);
}
