/**
 * Secret names in class parameters are templates: `${pvc.namespace}` or `$name`, as Go's os.Expand reads them.
 * There is no escape: `$$` is the unknown token `$`.
 */
const REFERENCE = /\$\{([^}]*)\}|\$([A-Za-z0-9_]+|[*#$@!?-])/g;

/** A class names a secret that cannot be: the message names the key that is wrong. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** Replaces every token; throws when one is not known. */
export function expandTemplate(template: string, tokens: Readonly<Record<string, string>>): string {
  const unknown: string[] = [];
  const text = template.replace(REFERENCE, (_, braced: string | undefined, bare: string | undefined) => {
    const token = braced ?? bare ?? "";
    const value = Object.hasOwn(tokens, token) ? tokens[token] : undefined;
    if (value === undefined) unknown.push(`"${token}"`);
    return value ?? "";
  });
  if (unknown.length > 0) throw new TemplateError(`invalid tokens: [${unknown.join(" ")}]`);
  return text;
}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** RFC 1123 label: at most 63 lower-case letters, digits and hyphens. */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && LABEL.test(text);
}

/** RFC 1123 subdomain: labels with dots between them, at most 253 characters. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && text.split(".").every((part) => LABEL.test(part));
}
