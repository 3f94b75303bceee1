// Writes the kubeconfig of a cluster, pasted or read from a file, into its Secret. The page does not keep it.

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { useMay } from "../../api/use-may.ts";
import { type SecretPlace, writeSecret } from "../../api/write-secret.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/copy-text.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogButton } from "../../components/dialogs/dialog-button.tsx";
import { DialogEnd } from "../../components/dialogs/dialog-end.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { quoted } from "../../format/shell.ts";
import { t } from "../../texts/text.tsx";

/** `title`: the display name of the cluster. */
type Target = SecretPlace & { readonly title: string };

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
    mutationFn: () => writeSecret(client, { namespace, name, field }, text),
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
