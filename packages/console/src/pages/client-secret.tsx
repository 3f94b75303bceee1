// The client secret of an identity provider: whether there is one, and a dialog that sets it. Its value is never read.

import "./trust/trust-texts.ts";
import type { IdentityProvider } from "@postern/api/identity-provider";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { useMay } from "../api/use-may.ts";
import { hasSecret, type SecretPlace, writeSecret } from "../api/write-secret.ts";
import { Badge } from "../components/badge.tsx";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialogs/dialog.tsx";
import { DialogButton } from "../components/dialogs/dialog-button.tsx";
import { DialogEnd } from "../components/dialogs/dialog-end.tsx";
import { TextField } from "../components/forms/text-field.tsx";
import { t } from "../texts/text.tsx";

/** The key in the Secret, unless the provider names another. */
export const CLIENT_SECRET = "clientSecret";

type SecretRef = NonNullable<IdentityProvider["spec"]["clientSecretRef"]>;

export const placeOfSecret = ({ secretNamespace = "", secretName = "", key = "" }: SecretRef): SecretPlace => ({
  namespace: secretNamespace,
  name: secretName,
  field: key || CLIENT_SECRET,
});

const keyOf = ({ namespace, name }: SecretPlace): readonly string[] => ["secret", namespace, name];

export function ClientSecret({ place }: { readonly place: SecretPlace }) {
  if (place.namespace === "" || place.name === "") return <p className="hint">{t("provider.secret.place")}</p>;
  return (
    <div className="actions">
      <SecretState place={place} />
      <DialogButton label={t("provider.secret.set")}>
        {(close) => <SetClientSecret place={place} onClose={close} />}
      </DialogButton>
    </div>
  );
}

function SecretState({ place }: { readonly place: SecretPlace }) {
  const { client } = useApi();
  const { namespace, name } = place;
  const right = useMay({ verb: "get", group: "", resource: "secrets", namespace, name });
  const found = useQuery({
    queryKey: keyOf(place),
    queryFn: ({ signal }) => hasSecret(client, place, signal),
    enabled: right.isAllowed,
    retry: false,
  });
  if (right.isKnown && !right.isAllowed) return <span className="hint">{t("secret.state.unknown")}</span>;
  if (found.data === undefined) return null;
  return (
    <Badge tone={found.data ? "good" : "warn"}>{t(found.data ? "secret.state.set" : "secret.state.missing")}</Badge>
  );
}

function SetClientSecret({ place, onClose }: { readonly place: SecretPlace; readonly onClose: () => void }) {
  const { client } = useApi();
  const queries = useQueryClient();
  const { namespace, name } = place;
  const right = useMay({ verb: "patch", group: "", resource: "secrets", namespace, name });
  const [value, setValue] = useState("");
  const save = useMutation({
    mutationFn: () => writeSecret(client, place, value.trim()),
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: keyOf(place) });
      onClose();
    },
    gcTime: 0,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // The form of the provider is around this dialog, for React.
    event.stopPropagation();
    if (value.trim() !== "") save.mutate();
  };
  return (
    <Dialog isOpen title={t("provider.secret.of", { secret: `${namespace}/${name}` })} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label={t("provider.secret.value")}
          description={t("provider.secret.value.hint")}
          value={value}
          onChange={setValue}
          type="password"
          autoFocus
          isRequired
        />
        <DialogEnd right={right} error={save.error} close={t("action.cancel")} onClose={onClose}>
          <Button
            kind="primary"
            type="submit"
            isPending={save.isPending}
            isDisabled={!right.isAllowed || value.trim() === ""}
          >
            {t("form.save")}
          </Button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}
