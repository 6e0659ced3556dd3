import { TypeTable } from "../../schema/dsl.ts";
import { sharedTypes } from "./shared.ts";

/** One container of a pod and all that hangs below it. */
export const containerTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type ConfigMapKeySelector "A key of a ConfigMap."
  name: string -- Name of the ConfigMap.
  key!: string -- The key.
  optional: bool -- The container may start without it.
type SecretKeySelector "A key of a Secret."
  name: string -- Name of the Secret.
  key!: string -- The key.
  optional: bool -- The container may start without it.
type ObjectFieldSelector "A field of the pod."
  apiVersion: string =v1 -- Version that the path is in.
  fieldPath!: string -- Path of the field, for example metadata.name.
type ResourceFieldSelector "A resource of a container."
  containerName: string -- The container; needed in volumes.
  resource!: string -- For example limits.memory.
  divisor: quantity =0 -- Unit of the result; 0 means 1.
type FileKeySelector "A key in an environment file on a volume."
  volumeName!: string -- Name of the volume.
  path!: string -- Path of the file in the volume.
  key!: string -- The key.
  optional: bool =false -- The container may start without it.
type EnvVarSource "Where the value of a variable comes from."
  fieldRef: ObjectFieldSelector -- A field of the pod.
  resourceFieldRef: ResourceFieldSelector -- A resource of the container.
  configMapKeyRef: ConfigMapKeySelector -- A key of a ConfigMap.
  secretKeyRef: SecretKeySelector -- A key of a Secret.
  fileKeyRef: FileKeySelector -- A key in an environment file.
type EnvVar "An environment variable."
  name!: string -- Name of the variable.
  value: string -- Its value; $(OTHER) is replaced by earlier variables.
  valueFrom: EnvVarSource -- Where its value comes from instead.
type ConfigMapEnvSource "All keys of a ConfigMap."
  name: string -- Name of the ConfigMap.
  optional: bool -- The container may start without it.
type SecretEnvSource "All keys of a Secret."
  name: string -- Name of the Secret.
  optional: bool -- The container may start without it.
type EnvFromSource "Variables from all keys of an object."
  prefix: string -- Put before every key.
  configMapRef: ConfigMapEnvSource -- The ConfigMap.
  secretRef: SecretEnvSource -- The Secret.
type ContainerPort "A port that a container listens on."
  name: string -- Name of the port, unique in the pod.
  hostPort: int32 min(0) max(65535) -- Port on the node.
  containerPort!: int32 min(1) max(65535) -- Port in the pod.
  protocol: string =TCP enum(SCTP,TCP,UDP) -- Protocol.
  hostIP: string -- Address of the node that hostPort is bound to.
type VolumeMount "A volume's place in a container's file system."
  name!: string -- Name of the volume.
  readOnly: bool -- Mount it read-only.
  recursiveReadOnly: string enum(Disabled,IfPossible,Enabled) -- Whether mounts below are read-only too.
  mountPath!: string -- Where it is mounted; no colon.
  subPath: string -- Folder of the volume that is mounted instead of its root.
  mountPropagation: string enum(Bidirectional,HostToContainer,None) -- How mounts spread between node and container.
  subPathExpr: string -- Like subPath, with variables.
type VolumeDevice "A block volume's device path in a container."
  name!: string -- Name of a claim volume of the pod.
  devicePath!: string -- Path of the device.
type ExecAction "A command to run."
  command: []string -- The command and its arguments; no shell.
type HTTPHeader "An HTTP header."
  name!: string -- Name.
  value!: string -- Value.
type HTTPGetAction "An HTTP request to make."
  path: string =/ -- Path of the URL.
  port!: intOrString -- Port, or name of one.
  host: string -- Host; default the pod's address.
  scheme: string =HTTP enum(HTTP,HTTPS) -- Scheme.
  httpHeaders: []HTTPHeader -- Headers to send.
type TCPSocketAction "A port to connect to."
  port!: intOrString -- Port, or name of one.
  host: string -- Host; default the pod's address.
type GRPCAction "A gRPC health check."
  port!: int32 -- Port.
  service: string ="" -- Service to ask for.
type SleepAction "A sleep."
  seconds!: int64 -- How long.
type Probe "A health check."
  exec: ExecAction -- Healthy when the command ends with 0.
  httpGet: HTTPGetAction -- Healthy when the response is 2xx or 3xx.
  tcpSocket: TCPSocketAction -- Healthy when the port can be connected to.
  grpc: GRPCAction -- Healthy when the service reports it.
  initialDelaySeconds: int32 min(0) -- Wait before the first check.
  timeoutSeconds: int32 =1 min(0) -- Time limit of one check.
  periodSeconds: int32 =10 min(0) -- Time between checks.
  successThreshold: int32 =1 min(0) -- Successes in a row that count as healthy.
  failureThreshold: int32 =3 min(0) -- Failures in a row that count as unhealthy.
  terminationGracePeriodSeconds: int64 -- Grace period after this check failed.
type LifecycleHandler "Something to do at a moment of a container's life."
  exec: ExecAction -- Run a command.
  httpGet: HTTPGetAction -- Make a request.
  tcpSocket: TCPSocketAction -- Not supported any more.
  sleep: SleepAction -- Wait.
type Lifecycle "What to do at moments of a container's life."
  postStart: LifecycleHandler -- Right after the start.
  preStop: LifecycleHandler -- Before the container is stopped.
  stopSignal: string -- Signal that stops the container.
type Capabilities "Linux capabilities to add and drop."
  add: []string -- Added ones.
  drop: []string -- Dropped ones.
type SELinuxOptions "SELinux labels."
  user: string -- User label.
  role: string -- Role label.
  type: string -- Type label.
  level: string -- Level label.
type SeccompProfile "System call filter."
  type!: string enum(Localhost,RuntimeDefault,Unconfined) -- Kind of profile.
  localhostProfile: string -- File on the node.
type AppArmorProfile "AppArmor profile."
  type!: string enum(Localhost,RuntimeDefault,Unconfined) -- Kind of profile.
  localhostProfile: string -- Profile on the node.
type WindowsSecurityContextOptions "Options for Windows."
  gmsaCredentialSpecName: string -- Name of a credential spec.
  gmsaCredentialSpec: string -- The credential spec.
  runAsUserName: string -- User of the process.
  hostProcess: bool -- Run as a host process.
type SecurityContext "Privileges of one container; overrides the pod's."
  capabilities: Capabilities -- Capabilities to add and drop.
  privileged: bool -- Like root on the node.
  seLinuxOptions: SELinuxOptions -- SELinux labels.
  windowsOptions: WindowsSecurityContextOptions -- Options for Windows.
  runAsUser: int64 -- User id of the process.
  runAsGroup: int64 -- Group id of the process.
  runAsNonRoot: bool -- Refuse to run as root.
  readOnlyRootFilesystem: bool -- The root file system is read-only.
  allowPrivilegeEscalation: bool -- May gain more privileges than its parent.
  procMount: string -- Kind of /proc.
  seccompProfile: SeccompProfile -- System call filter.
  appArmorProfile: AppArmorProfile -- AppArmor profile.
type ContainerResizePolicy "What a change of one resource does to the container."
  resourceName!: string -- The resource.
  restartPolicy!: string -- NotRequired or RestartContainer.
type ContainerRestartRuleOnExitCodes "Exit codes that a rule is about."
  operator!: string enum(In,NotIn) -- Whether the code must be among the values.
  values: []int32 set -- The codes.
type ContainerRestartRule "When a container is restarted, by exit code."
  action!: string -- Restart.
  exitCodes: ContainerRestartRuleOnExitCodes -- The codes.
type Container "One process of a pod, with what it sees and may use."
  name!: string -- Name, a DNS label, unique in the pod.
  image: string -- What to run; the image host is the machine's own root.
  command: []string -- Replaces the image's entry point; no shell.
  args: []string -- Arguments of the entry point.
  workingDir: string -- Working directory.
  ports: []ContainerPort map(containerPort,protocol) merge(containerPort) -- Ports it listens on.
  envFrom: []EnvFromSource -- Variables from whole objects.
  env: []EnvVar map(name) merge(name) -- Environment variables.
  resources: ResourceRequirements ={} -- Compute resources.
  resizePolicy: []ContainerResizePolicy -- What changes of resources do.
  restartPolicy: string -- Always makes an init container a sidecar.
  restartPolicyRules: []ContainerRestartRule -- Exceptions by exit code.
  volumeMounts: []VolumeMount map(mountPath) merge(mountPath) -- Where volumes are mounted.
  volumeDevices: []VolumeDevice map(devicePath) merge(devicePath) -- Where block volumes appear.
  livenessProbe: Probe -- Failing restarts the container.
  readinessProbe: Probe -- Failing makes the pod not ready.
  startupProbe: Probe -- Other checks wait until this one succeeds.
  lifecycle: Lifecycle -- What to do at moments of its life.
  terminationMessagePath: string =/dev/termination-log -- File whose content becomes the termination message.
  terminationMessagePolicy: string =File enum(FallbackToLogsOnError,File) -- Where the message comes from.
  imagePullPolicy: string enum(Always,IfNotPresent,Never) -- When the image is pulled.
  securityContext: SecurityContext -- Privileges.
  stdin: bool -- Keep a standard input.
  stdinOnce: bool -- Close it after the first client left.
  tty: bool -- Give it a terminal.
type EphemeralContainer "A container added to a running pod to debug it."
  name!: string -- Name, a DNS label, unique in the pod.
  image: string -- What to run.
  command: []string -- Replaces the image's entry point.
  args: []string -- Arguments of the entry point.
  workingDir: string -- Working directory.
  envFrom: []EnvFromSource -- Variables from whole objects.
  env: []EnvVar map(name) merge(name) -- Environment variables.
  volumeMounts: []VolumeMount map(mountPath) merge(mountPath) -- Where volumes are mounted.
  volumeDevices: []VolumeDevice map(devicePath) merge(devicePath) -- Where block volumes appear.
  terminationMessagePath: string =/dev/termination-log -- File whose content becomes the termination message.
  terminationMessagePolicy: string =File -- Where the message comes from.
  imagePullPolicy: string -- When the image is pulled.
  securityContext: SecurityContext -- Privileges.
  resources: ResourceRequirements ={} -- Compute resources.
  stdin: bool -- Keep a standard input.
  stdinOnce: bool -- Close it after the first client left.
  tty: bool -- Give it a terminal.
  targetContainerName: string -- Container whose processes it sees.
`,
  [sharedTypes],
);
