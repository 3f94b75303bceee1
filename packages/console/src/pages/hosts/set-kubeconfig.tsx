// Writes the kubeconfig of a cluster, pasted or read from a file, into its Secret. The page does not keep it.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { inNamespace, NAMESPACES, SECRETS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/copy-text.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { DialogButton } from "../../components/dialog-button.tsx";
import { DialogEnd } from "../../components/dialog-end.tsx";
import { TextField } from "../../components/text-field.tsx";
import { quoted } from "../../format/shell.ts";
import { t } from "../../texts/text.tsx";

type Target = {
  /** The display name of the cluster. */
  readonly title: string;
  /** The Secret and the key in it. */
  readonly namespace: string;
  readonly name: string;
  readonly field: string;
};

export function SetKubeconfig(target: Target) {
  return (
    <DialogButton label={t("host.kubeconfig.set")}>
      {(close) => <SetKubeconfigDialog {...target} onClose={close} />}
    </DialogButton>
  );
}

function SetKubeconfigDialog(props: Target & { readonly onClose: () => void }) {
  const { title, namespace, name, field, onClose } = props;
  const { client } = useApi();
  const right = useMay({ verb: "patch", group: "", resource: "secrets", namespace, name });
  const [text, setText] = useState("");
  const save = useMutation({
    async mutationFn() {
      const secrets = createResourceClient(client, inNamespace(SECRETS, namespace));
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: { [field]: text } };
      const write = () => secrets.apply(name, secret, { fieldManager: "console", force: true });
      try {
        await write();
      } catch (error) {
        if (!isApiError(error, "NotFound")) throw error;
        await createResourceClient(client, NAMESPACES).create({
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name: namespace },
        });
        await write();
      }
    },
    onSuccess: onClose,
    gcTime: 0,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") save.mutate();
  };
  const command = ["kubectl", "create", "secret", "generic", name, "--namespace", namespace];
  return (
    <Dialog isOpen isWide title={t("host.kubeconfig.title", { name: title })} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <label className="field">
          <span>{t("host.kubeconfig.file")}</span>
          <input type="file" onChange={({ target }) => void target.files?.[0]?.text().then(setText)} />
        </label>
        <TextField
          label={t("host.kubeconfig.text")}
          description={t("host.kubeconfig.hint")}
          value={text}
          onChange={setText}
          isMultiline
          isMonospace
          autoComplete="off"
        />
        <Code label={t("form.command")} text={`${command.map(quoted).join(" ")} --from-file=${field}=admin.conf`} />
        <DialogEnd right={right} error={save.error} close={t("action.cancel")} onClose={onClose}>
          <Button
            kind="primary"
            type="submit"
            isPending={save.isPending}
            isDisabled={!right.isAllowed || text.trim() === ""}
          >
            {t("form.save")}
          </Button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}
