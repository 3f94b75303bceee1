// The actions of an access key. Each lists its consequences before it is done.

import type { Credential } from "@postern/api/credential-ledger";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { AUDIT_PATH } from "../../api/audit-search.ts";
import { ACCESS_KEYS, nameOf } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { useOpened } from "../../components/dialogs/use-opened.ts";
import { SelectField } from "../../components/forms/fields.tsx";
import { Notice } from "../../components/notice.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { settings } from "../../settings.ts";
import { counted, t } from "../../texts/text.tsx";
import { SecretValue } from "./secret-value.tsx";

type Asked = "rotate" | "compromised" | "disable" | "enable" | "delete";
type NewValue = { readonly value: string; readonly revoked: number; readonly isCompromised: boolean };

const GRACES = ["0", "3600", "86400", "604800"] as const;

/** `made`: the credentials that were created with the key. */
export function KeyActions({
  accessKey,
  made,
}: {
  readonly accessKey: OwnedAccessKey;
  readonly made: readonly Credential[];
}) {
  const name = nameOf(accessKey);
  const { client, session } = useApi();
  const navigate = useNavigate();
  const mayUpdate = useMay({ verb: "update", resource: "ownedaccesskeys", name });
  const maySearch = useMay({ verb: "get", path: AUDIT_PATH });
  const mayDelete = useMay({ verb: "delete", resource: "ownedaccesskeys", name });
  const { opened: asked, open: setAsked, close } = useOpened<Asked>(["rotate", "disable"]);
  const [grace, setGrace] = useState<(typeof GRACES)[number]>("3600");
  const [newValue, setNewValue] = useState<NewValue>();
  const keys = createResourceClient<OwnedAccessKey>(client, ACCESS_KEYS);
  const isOwnSession = name === session.keyName;
  const isDisabled = accessKey.spec?.disabled === true;

  const rotate = async (spec: JsonObject): Promise<void> => {
    // The rotation has this shape: see its schema in the API.
    const { status } = (await keys.createSubresource(name, "rotate", {
      kind: "OwnedAccessKeyRotation",
      spec: { nonce: crypto.randomUUID(), ...spec },
    })) as { readonly status?: { readonly key?: string; readonly revokedCredentials?: number } };
    setNewValue({
      value: status?.key ?? "",
      revoked: status?.revokedCredentials ?? 0,
      isCompromised: spec["compromised"] === true,
    });
  };
  const recover = async (): Promise<void> => {
    await rotate({ compromised: true });
    const report = `${settings.domain}/leak-reported-at`;
    // A key that was disabled because of the report is valid again with its new value.
    if (isDisabled && accessKey.metadata.annotations?.[report] !== undefined) {
      const patch = { metadata: { annotations: { [report]: null } }, spec: { disabled: false } };
      await keys.patch(name, { type: "merge", patch });
    }
  };
  const setDisabled = (disabled: boolean) => keys.patch(name, { type: "merge", patch: { spec: { disabled } } });
  const remove = async (): Promise<void> => {
    const { uid } = accessKey.metadata;
    await keys.delete(name, uid === undefined ? {} : { preconditions: { uid } });
    await navigate({ to: "/keys" });
  };

  const ends = made.length === 0 ? t("key.ends.none") : counted("key.ends.made", made.length);
  return (
    <>
      {mayUpdate.isAllowed && (
        <Link to="/keys/$name/edit" params={{ name }} className="button plain">
          {t("action.edit")}
        </Link>
      )}
      <Button onPress={() => setAsked("rotate")} isDisabled={!mayUpdate.isAllowed || isOwnSession}>
        {t("key.rotate")}
      </Button>
      <Button onPress={() => setAsked(isDisabled ? "enable" : "disable")} isDisabled={!mayUpdate.isAllowed}>
        {isDisabled ? t("key.enable") : t("key.disable")}
      </Button>
      <Button kind="danger" onPress={() => setAsked("compromised")} isDisabled={!mayUpdate.isAllowed || isOwnSession}>
        {t("key.compromised")}
      </Button>
      <Button kind="danger" onPress={() => setAsked("delete")} isDisabled={!mayDelete.isAllowed}>
        {t("action.delete")}
      </Button>
      <WhyNot right={mayUpdate} />

      <Confirm
        isOpen={asked === "rotate"}
        onClose={close}
        title={t("key.rotate.title", { name })}
        action={t("key.rotate")}
        consequences={[
          t("key.rotate.value"),
          grace === "0" ? t("key.rotate.atOnce") : t("key.rotate.grace"),
          t("key.rotate.keeps"),
        ]}
        onConfirm={() => rotate({ gracePeriodSeconds: Number(grace) })}
      >
        <SelectField
          label={t("key.rotate.until")}
          value={grace}
          choices={GRACES.map((id) => ({ id, label: t(`key.grace.${id}`) }))}
          onChange={setGrace}
        />
      </Confirm>
      <Confirm
        isOpen={asked === "compromised"}
        onClose={close}
        isDangerous
        title={t("key.compromised.title", { name })}
        action={t("key.compromised.action")}
        consequences={[t("key.compromised.value"), ends, t("key.compromised.open"), t("key.compromised.stays")]}
        onConfirm={recover}
      />
      <Confirm
        isOpen={asked === "disable"}
        onClose={close}
        isDangerous
        title={t("key.disable.title", { name })}
        action={t("key.disable")}
        consequences={[
          t("key.disable.refused"),
          made.length === 0 ? t("key.ends.none") : counted("key.disable.made", made.length),
          t("key.disable.back"),
          ...(isOwnSession ? [t("key.own")] : []),
        ]}
        onConfirm={() => setDisabled(true)}
      />
      <Confirm
        isOpen={asked === "enable"}
        onClose={close}
        title={t("key.enable.title", { name })}
        action={t("key.enable")}
        consequences={[t("key.enable.again")]}
        onConfirm={() => setDisabled(false)}
      />
      <Confirm
        isOpen={asked === "delete"}
        onClose={close}
        isDangerous
        title={t("key.delete.title", { name })}
        action={t("key.delete.action")}
        consequences={[
          t("key.delete.refused"),
          made.length === 0 ? t("key.ends.none") : counted("key.delete.made", made.length),
          t("key.delete.final"),
          ...(isOwnSession ? [t("key.own")] : []),
        ]}
        onConfirm={remove}
      />
      <Dialog
        isOpen={newValue !== undefined}
        onClose={() => setNewValue(undefined)}
        title={t("key.newValue", { name })}
        isWide
        isKept
      >
        {newValue !== undefined && <SecretValue name={name} value={newValue.value} scope={accessKey.spec?.scope} />}
        {newValue?.isCompromised === true && maySearch.isAllowed && (
          <Link to="/audit" search={{ key: name, show: "all", since: "604800" }}>
            {t("key.compromised.search")}
          </Link>
        )}
        {(newValue?.revoked ?? 0) > 0 && <Notice tone="info">{counted("key.revoked", newValue?.revoked ?? 0)}</Notice>}
        <footer className="dialog-actions">
          <Button kind="primary" onPress={() => setNewValue(undefined)}>
            {t("secret.stored")}
          </Button>
        </footer>
      </Dialog>
    </>
  );
}
