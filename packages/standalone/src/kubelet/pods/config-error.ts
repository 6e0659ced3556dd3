/** Something that the pod refers to is not there (yet); Kubernetes calls it CreateContainerConfigError. */
export class ContainerConfigError extends Error {
  override readonly name = "ContainerConfigError";
}
