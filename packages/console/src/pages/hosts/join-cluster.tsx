// The command that connects a cluster through an agent. Its address is valid once and for an hour; the page does not keep it.

import type { Cluster } from "@postern/api/cluster";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.tsx";
import { CLUSTERS, nameOf } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/copy-text.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogButton } from "../../components/dialogs/dialog-button.tsx";
import { DialogEnd } from "../../components/dialogs/dialog-end.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { quoted } from "../../format/shell.ts";
import { sentence, t } from "../../texts/text.tsx";

type Join = { readonly url: string; readonly expirationTimestamp: string };

export function JoinCluster({ cluster }: { readonly cluster: Cluster }) {
  return (
    <DialogButton label={t("host.join")}>{(close) => <JoinDialog cluster={cluster} onClose={close} />}</DialogButton>
  );
}

function JoinDialog({ cluster, onClose }: { readonly cluster: Cluster; readonly onClose: () => void }) {
  const { client } = useApi();
  const name = nameOf(cluster);
  const right = useMay({ verb: "create", resource: "clusters", subresource: "join", name });
  const join = useMutation({
    async mutationFn() {
      const body = { kind: "ClusterJoin" };
      const { status } = (await createResourceClient(client, CLUSTERS).createSubresource(name, "join", body)) as {
        readonly status: Join;
      };
      return status;
    },
    gcTime: 0,
  });
  return (
    <Dialog isOpen isWide title={t("host.join.title", { name: cluster.spec?.displayName || name })} onClose={onClose}>
      {join.data === undefined ? <p>{t("host.join.lead")}</p> : <Command join={join.data} name={name} />}
      <Connection cluster={cluster} />
      <DialogEnd right={right} error={join.error} close={t("action.close")} onClose={onClose}>
        {join.data === undefined && (
          <Button kind="primary" isPending={join.isPending} isDisabled={!right.isAllowed} onPress={() => join.mutate()}>
            {t("host.join.make")}
          </Button>
        )}
      </DialogEnd>
    </Dialog>
  );
}

function Command({ join, name }: { readonly join: Join; readonly name: string }) {
  return (
    <>
      <p>{t("host.join.run")}</p>
      <Code label={t("form.command")} text={`kubectl apply -f ${quoted(join.url)}`} />
      <p className="muted">
        {t("host.join.until")} <Time at={join.expirationTimestamp} otherwise="" />
      </p>
      <details>
        <summary>{t("host.join.untrusted")}</summary>
        <Code
          label={t("form.command")}
          text={`postern cluster join ${quoted(name)} --manifests | kubectl --kubeconfig ${quoted(`${name}.kubeconfig`)} apply -f -`}
        />
      </details>
    </>
  );
}

/** Turns green as soon as the agent is there. */
function Connection({ cluster }: { readonly cluster: Cluster }) {
  const connected = cluster.status?.conditions?.find(({ type }) => type === "Connected");
  const isConnected = connected?.status === "True";
  return (
    <div aria-live="polite">
      <Notice tone={isConnected ? "good" : "info"}>
        {isConnected ? t("host.join.connected") : sentence(connected?.message || t("host.join.waiting"))}
      </Notice>
    </div>
  );
}
