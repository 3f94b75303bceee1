// The actions of every object, in the order of all pages: the primary one, edit it in a form, others, and delete it after a confirmation.

import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { nameOf, type Titled } from "../api/resources.ts";
import { useMay } from "../api/use-may.ts";
import { t } from "../texts/text.tsx";
import { Button } from "./button.tsx";
import { Confirm } from "./dialogs/confirm.tsx";
import { TextField } from "./forms/text-field.tsx";
import { LISTS, ObjectHead, type PageKind, titleIn } from "./object-page.tsx";

type ObjectActionsProps = {
  readonly kind: PageKind;
  readonly address: ResourceAddress;
  readonly object: Titled;
  /** The address of its form; absent without one. */
  readonly editedAt?: string;
  /** Default: true. */
  readonly isDeletable?: boolean;
  /** The consequences of its deletion, one sentence each. */
  readonly consequences: readonly ReactNode[];
  /** The usual action of the page, before all others. */
  readonly primary?: ReactNode;
  /** Other actions, between editing and deleting. */
  readonly children?: ReactNode;
  /** To be typed before it can be deleted: for objects that take much with them. */
  readonly typed?: string;
};

/** The heading of an object's page, with these actions. */
export const HeadWithActions = (props: ObjectActionsProps) => (
  <ObjectHead kind={props.kind} object={props.object} actions={<ObjectActions {...props} />} />
);

export function ObjectActions(props: ObjectActionsProps) {
  const { kind, address, object, editedAt, isDeletable = true, consequences, primary, children, typed = "" } = props;
  const { client } = useApi();
  const navigate = useNavigate();
  const name = nameOf(object);
  const { group, resource, namespace } = address;
  const wish = { group, resource, name, ...(namespace === undefined ? {} : { namespace }) };
  const mayUpdate = useMay({ verb: "update", ...wish });
  const mayDelete = useMay({ verb: "delete", ...wish });
  const [isAsked, setAsked] = useState(false);
  const [text, setText] = useState("");
  const remove = async (): Promise<void> => {
    const { uid } = object.metadata;
    await createResourceClient(client, address).delete(name, uid === undefined ? {} : { preconditions: { uid } });
    await navigate({ to: LISTS[kind].to });
  };
  return (
    <>
      {primary}
      {mayUpdate.isAllowed && editedAt !== undefined && (
        <Link to={editedAt} className="button plain">
          {t("action.edit")}
        </Link>
      )}
      {children}
      {mayDelete.isAllowed && isDeletable && (
        <Button kind="danger" onPress={() => setAsked(true)}>
          {t("action.delete")}
        </Button>
      )}
      <Confirm
        isOpen={isAsked}
        onClose={() => {
          setAsked(false);
          setText("");
        }}
        title={t("key.delete.title", { name: titleIn(address, name) })}
        action={t("action.delete")}
        isDangerous
        consequences={[...consequences, t("object.delete.final")]}
        isReady={text.trim() === typed}
        onConfirm={remove}
      >
        {typed !== "" && (
          <TextField label={t("object.delete.type", { name: typed })} value={text} onChange={setText} isMonospace />
        )}
      </Confirm>
    </>
  );
}
