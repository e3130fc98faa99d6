package slurmtest

// settings is slurm.conf but for the nodes. Steps are scheduled at once, and nothing of the machine is asked for: no
// cgroups, no accounting, no affinity. Its parts wait longer for each other than the usual 2 to 10 s, for they share a
// busy machine.
const settings = `ClusterName=test
SlurmctldHost=@HOST@(127.0.0.1)
SlurmctldPort=@PORT@
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=@DIR@/munge/socket
CryptoType=crypto/munge
StateSaveLocation=@DIR@/state
SlurmdSpoolDir=@DIR@/spool-%n
SlurmctldPidFile=@DIR@/run/slurmctld.pid
SlurmdPidFile=@DIR@/run/slurmd-%n.pid
TmpFS=@DIR@/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MessageTimeout=60
TCPTimeout=30
BatchStartTimeout=60
InactiveLimit=0
MinJobAge=600
MailProg=/bin/true
`
