// Reminds of CAs of embedded virtual clusters that expire, with an Event each day, and shows the first end in a metric.

import { X509Certificate } from "node:crypto";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AuthorityEnds } from "../../certificate-authorities/authority-metrics.ts";
import { authorityName } from "../../certificate-authorities/present-authority.ts";
import type { EmbeddedClusters } from "../embedded/embedded-clusters.ts";

const DAY_MS = 86_400_000;
/** Time to prepare a rotation, to replace every kubeconfig, and to complete it. */
const REMINDER_MS = 90 * DAY_MS;
const FIRST_LOOK_MS = 60_000;

export function createAuthorityReminders(
  { runtime: { clock, scheduler }, onError }: Pick<ControllerPort, "runtime" | "onError">,
  { names, own, recordEvent }: Pick<Foundation, "names" | "own" | "recordEvent">,
  { embedded, ends }: { readonly embedded: Pick<EmbeddedClusters, "authorityOf">; readonly ends: AuthorityEnds },
): Controller {
  const instances = own("VirtualClusterInstance");
  let isOver = false;
  let timer: Disposable | undefined;
  let looking: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    const pause = createTurns(clock);
    let first: number | undefined;
    for (const object of instances.view.list(instances.keys.prefix)) {
      if (isOver) return;
      await pause();
      // Stored objects have gone through the schema of their kind.
      const instance = object.decode() as VirtualClusterInstance;
      const record = isBeingDeleted(instance) ? undefined : await embedded.authorityOf(instance.metadata.uid ?? "");
      if (record === undefined) continue;
      const { certificate } = record.next ?? record.current;
      const end = Date.parse(new X509Certificate(certificate).validTo);
      first = Math.min(first ?? end, end);
      if (end - clock.now() < REMINDER_MS) remind(instance, authorityName(certificate), end);
    }
    ends.clusters = first;
  }

  const remind = ({ metadata }: VirtualClusterInstance, authority: string, end: number): void => {
    const { name = "", namespace = "", uid = "" } = metadata;
    const involved = { kind: "VirtualClusterInstance", namespace, name, uid };
    recordEvent(expiryEvent({ apiVersion: `${names.managementGroup}/v1`, ...involved }, authority, end));
  };

  const plan = (delayMs: number): void => {
    if (isOver) return;
    timer = scheduler.schedule(delayMs, () => {
      looking = look()
        .catch((error: unknown) => onError(error, "authority_reminders"))
        .finally(() => plan(DAY_MS));
    });
  };
  plan(FIRST_LOOK_MS);
  return {
    idle: () => looking,
    [Symbol.dispose]() {
      isOver = true;
      timer?.[Symbol.dispose]();
    },
  };
}

const expiryEvent = (
  involvedObject: Parameters<EventRecorder>[0]["involvedObject"],
  authority: string,
  end: number,
): Parameters<EventRecorder>[0] => ({
  involvedObject,
  type: "Warning",
  reason: "CertificateAuthorityExpires",
  message: `the CA ${authority} expires at ${formatTimestamp(end)}: rotate it with postern ca rotate --prepare`,
});
