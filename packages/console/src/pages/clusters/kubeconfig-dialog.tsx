// Gets a kubeconfig for a virtual cluster: a file with a token or a certificate, or a command that writes one without a secret.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { nameOf } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Code, CopyButton, DownloadButton } from "../../components/copy-text.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogEnd } from "../../components/dialogs/dialog-end.tsx";
import { Checkbox, RadioField, SelectField } from "../../components/forms/fields.tsx";
import { Notice } from "../../components/notice.tsx";
import { titleIn } from "../../components/object-page.tsx";
import { Time } from "../../components/time.tsx";
import { projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { isBuiltIn } from "./cluster-badge.tsx";
import { FLAGS, lifeText, lifeWithin, livesWithin, REST, secondsLeft } from "./kubeconfig-lives.ts";
import {
  fileOf,
  issueKubeconfig,
  KINDS,
  rememberedWish,
  rememberWish,
  serverOf,
  USUAL_WISH,
  type Wish,
} from "./kubeconfig-wish.ts";

export function KubeconfigDialog({
  cluster,
  onClose,
}: {
  readonly cluster: VirtualClusterInstance;
  readonly onClose: () => void;
}) {
  const { client, session } = useApi();
  const name = nameOf(cluster);
  const { namespace = "" } = cluster.metadata;
  const may = useMay({
    verb: "create",
    resource: "virtualclusterinstances",
    subresource: "kubeconfig",
    namespace,
    name,
  });
  // Read when the dialog opens: the choices do not change under the cursor.
  const [ofSession] = useState(() => secondsLeft(session.expiresAt, Date.now()));
  const [wish, setWish] = useState<Wish>(() => rememberedWish() ?? USUAL_WISH);
  const set = (changes: Partial<Wish>): void => setWish((before) => ({ ...before, ...changes }));
  const { kind, isReadOnly, isDirect } = wish;
  // The command asks with a credential of its own.
  const left = kind === "exec" ? Number.POSITIVE_INFINITY : ofSession;
  const life = lifeWithin(wish.life, left);
  const isElsewhere = !isBuiltIn(cluster);
  const server = serverOf(cluster, wish);
  const issue = useMutation({
    mutationFn: () => issueKubeconfig(client, cluster, wish, left),
    onSuccess: () => rememberWish(wish),
    gcTime: 0,
  });
  const { data } = issue;
  return (
    <Dialog
      title={t("kubeconfig.title", { name: titleIn(cluster.metadata, cluster.spec?.displayName || name) })}
      isOpen
      onClose={onClose}
      isWide
    >
      {data === undefined ? (
        <>
          <RadioField
            label={t("kubeconfig.kind")}
            value={kind}
            choices={KINDS.map((id) => ({
              id,
              label: t(`kubeconfig.kind.${id}`),
              description: t(
                id === "certificate" && isElsewhere ? "kubeconfig.kind.certificate.own" : `kubeconfig.kind.${id}.hint`,
              ),
            }))}
            onChange={(chosen) => set({ kind: chosen })}
          />
          {isElsewhere && kind !== "certificate" && (
            <SelectField
              label={t("kubeconfig.address")}
              value={isDirect ? "own" : "proxy"}
              choices={(["proxy", "own"] as const).map((id) => ({ id, label: t(`kubeconfig.address.${id}`) }))}
              onChange={(id) => set({ isDirect: id === "own" })}
              description={t(isDirect ? "kubeconfig.address.own.hint" : "kubeconfig.address.proxy.hint")}
            />
          )}
          <SelectField
            label={t("field.ttl")}
            value={life}
            choices={livesWithin(left).map((id) => ({ id, label: lifeText(id) }))}
            onChange={(chosen) => set({ life: chosen })}
            {...(left === Number.POSITIVE_INFINITY ? {} : { description: t("kubeconfig.life.hint") })}
          />
          <Checkbox
            isSelected={isReadOnly}
            onChange={(chosen) => set({ isReadOnly: chosen })}
            description={t("kubeconfig.readOnly.hint")}
          >
            {t("kubeconfig.readOnly")}
          </Checkbox>
          <Code label={t("form.command")} text={commandOf(name, projectOf(namespace), { ...wish, life }, server)} />
          <DialogEnd right={may} error={issue.error} close={t("action.close")} onClose={onClose}>
            {kind !== "exec" && (
              <Button
                kind="primary"
                isPending={issue.isPending}
                isDisabled={!may.isAllowed}
                onPress={() => issue.mutate()}
              >
                {t("kubeconfig.make")}
              </Button>
            )}
          </DialogEnd>
        </>
      ) : (
        <>
          <Notice tone="warn">
            <p>
              {t("kubeconfig.secret")}{" "}
              {data.expires !== undefined && (
                <>
                  {t("kubeconfig.ends")} <Time at={data.expires} otherwise="" />.
                </>
              )}
            </p>
          </Notice>
          <div className="actions">
            <DownloadButton text={data.text} fileName={fileOf(cluster)} />
            <CopyButton text={data.text} />
          </div>
          <Code label={t("kubeconfig.use")} text={`kubectl --kubeconfig ${fileOf(cluster)} get namespaces`} />
          <footer className="dialog-actions">
            <Button kind="primary" onPress={onClose}>
              {t("action.done")}
            </Button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

const commandOf = (
  name: string,
  project: string,
  { kind, life, isReadOnly }: Wish,
  server: string | undefined,
): string =>
  [
    `postern kubeconfig ${name} --project ${project}`,
    ...(kind === "certificate" ? ["--client-cert"] : []),
    ...(kind === "exec" ? ["--exec"] : []),
    ...(isReadOnly ? ["--read-only"] : []),
    ...(server === undefined ? [] : [`--cluster-server ${server}`]),
    ...(life === REST ? [] : [`--ttl ${FLAGS[life]}`]),
    "--merge",
  ].join(" ");
