// Updates the status of identity providers: whether users can sign in, and the redirect URI for the client registration.

import { type ConditionState, withCondition } from "@postern/api/conditions";
import type { IdentityProvider } from "@postern/api/identity-provider";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { SignIn } from "../feature.ts";
import { BACK_CHANNEL_PATH, CLIENT_KEYS_PATH, callbackUrl } from "../sign-in-paths.ts";

const RECHECK_MS = 5 * 60_000;
const RETRY_MS = 30_000;

export function createIdentityProviderController(
  port: Omit<ControllerPort, "resources">,
  resource: ControlledResource,
  { providers, client, publicUrl }: SignIn,
): Controller {
  const { clock, scheduler } = port.runtime;
  // Each waits for its provider alone.
  const queue = new WorkQueue(port, {
    name: "identity_provider",
    process,
    laneOf: (key) => key,
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = resource.view.get(key)?.decode();
    const { name } = resource.keys.parse(key);
    const provider = providers.get(name);
    if (object === undefined || provider === undefined) return;
    const fault = provider.isOff
      ? { reason: "Disabled", message: "the provider is disabled" }
      : await client.faultOf(provider);
    const state: ConditionState =
      fault === undefined
        ? { type: "Ready", holds: true, reason: "Ready", message: "users can sign in" }
        : { type: "Ready", holds: false, ...fault };
    // The store holds no other kind under this resource.
    const before = (object as IdentityProvider).status;
    const status = {
      conditions: withCondition(before?.conditions ?? [], state, clock.now()),
      redirectURI: callbackUrl(publicUrl(), name),
      ...(provider.spec.clientAuthentication === "PrivateKeyJWT"
        ? { clientKeysURI: `${publicUrl()}${CLIENT_KEYS_PATH}` }
        : {}),
      backChannelLogoutURI: `${publicUrl()}${BACK_CHANNEL_PATH}/${name}`,
    };
    if (!equalJson({ ...before }, { ...status })) {
      const transform = (current: KubeObject): KubeObject => ({ ...current, status });
      await updateStatus(port, resource, object, transform, signal);
    }
    queue.addAfter(key, fault === undefined ? RECHECK_MS : RETRY_MS);
  }

  return createQueueController(queue, [
    followKeys(resource, scheduler, (key) => queue.add(key)),
    client.onChange((name) => queue.add(resource.keys.of("", name))),
  ]);
}
