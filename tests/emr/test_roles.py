"""Clusters get the tags and the roles that Amazon's policies demand, and a lost cluster is explained."""

import json
import re

import boto3
import pytest
from moto.emr.responses import ElasticMapReduceResponse
from moto.iam.aws_managed_policies import aws_managed_policies_data
from mrjob.job import MRJob

from emr.amazon import REGION
from emr.conftest import CONF, TEMPORARY
from mr_elm.engines.emr.client import EMRRunner, read_options
from mr_elm.engines.mrjob_private import runner_arguments

ROLE = 'arn:aws:iam::111122223333:role/mr-elm-jobs'
TAG = 'for-use-with-amazon-emr-managed-policies'


@pytest.fixture
def emr(account):
    """Make a client of EMR."""
    return boto3.client('emr', region_name=REGION)


@pytest.fixture
def runtime_roles(emr):
    """Make a security configuration with runtime roles: the option that names it."""
    settings = {'AuthorizationConfiguration': {'IAMConfiguration': {'EnableApplicationScopedIAMRole': True}}}
    emr.create_security_configuration(Name='runtime-roles', SecurityConfiguration=json.dumps(settings))
    yield '--extra-cluster-param', 'SecurityConfiguration=runtime-roles'
    emr.delete_security_configuration(Name='runtime-roles')


def test_the_configuration_satisfies_the_policy_of_its_service_role():
    options = read_options(('-c', str(CONF), '--cloud-tmp-dir', TEMPORARY))
    statements = json.loads(aws_managed_policies_data)['AmazonEMRServicePolicy_v2']['Document']['Statement']
    wanted = {
        name.partition('/')[2]: value
        for statement in statements
        for name, value in statement.get('Condition', {}).get('StringEquals', {}).items()
        if name.startswith(('aws:RequestTag/', 'aws:ResourceTag/')) and 'Endpoint' not in statement['Sid']
    }
    passed = [statement['Resource'] for statement in statements if statement['Sid'] == 'PassRoleForEC2']
    assert wanted == {TAG: 'true'} and wanted.items() <= options['tags'].items()
    assert [role.rpartition('/')[2] for role in passed] == [options['iam_instance_profile']]


def test_the_roles_of_the_manual_can_be_made(account):
    iam = boto3.client('iam', region_name=REGION)
    folder = CONF.parent
    for role, file, service in (
        ('EMR_DefaultRole_V2', 'emr-trust-service.json', 'elasticmapreduce'),
        ('EMR_EC2_DefaultRole', 'emr-trust-machines.json', 'ec2'),
    ):
        made = iam.create_role(RoleName=role, AssumeRolePolicyDocument=(folder / file).read_text())['Role']
        trusted = made['AssumeRolePolicyDocument']['Statement'][0]['Principal']
        assert trusted == {'Service': f'{service}.amazonaws.com'}
    policy = (folder / 'emr-policy-machines.json').read_text()
    names = {'RoleName': 'EMR_EC2_DefaultRole', 'PolicyName': 'mr-elm'}
    iam.put_role_policy(**names, PolicyDocument=policy)  # refuses what is no policy
    assert iam.get_role_policy(**names)['PolicyDocument'] == json.loads(policy)


def test_a_cluster_has_its_tags_when_it_is_made(account, emr, monkeypatch):
    monkeypatch.setattr(EMRRunner, '_add_tags', lambda *_: None)  # mrjob adds tags to a cluster that is there
    words = [
        '-r',
        'emr',
        '-c',
        str(CONF),
        '--cloud-tmp-dir',
        TEMPORARY,
        '--extra-cluster-param',
        f'ExecutionRoleArn={ROLE}',
    ]
    cluster = EMRRunner(**runner_arguments(MRJob(args=words))).make_persistent_cluster()
    tags = emr.describe_cluster(ClusterId=cluster)['Cluster']['Tags']
    assert {'Key': TAG, 'Value': 'true'} in tags and {'Key': 'project', 'Value': 'mr-elm'} in tags
    emr.terminate_job_flows(JobFlowIds=[cluster])


def use_fleets(text):
    """Return a configuration whose instance fleets are no comment, without the settings that they replace."""
    fleets = re.search(r'^    # instance_fleets:\n(    #  .*\n)+', text, re.MULTILINE)[0]
    kept = re.sub(r'^    (master|core|num_core)_inst.*\n', '', text, flags=re.MULTILINE)
    return kept.replace(fleets, fleets.replace('    # ', '    '))


def test_a_cluster_may_have_the_instance_fleets_of_the_configuration(account, emr, monkeypatch, tmp_path):
    asked, plain = [], ElasticMapReduceResponse.run_job_flow
    monkeypatch.setattr(
        ElasticMapReduceResponse,
        'run_job_flow',
        lambda response: asked.append(response._get_param('Instances')) or plain(response),
    )
    (tmp_path / 'mrjob.conf').write_text(use_fleets(CONF.read_text()))
    words = ['-r', 'emr', '-c', str(tmp_path / 'mrjob.conf'), '--cloud-tmp-dir', TEMPORARY]
    cluster = EMRRunner(**runner_arguments(MRJob(args=words))).make_persistent_cluster()  # boto3 knows the fields
    emr.terminate_job_flows(JobFlowIds=[cluster])
    fleets = {fleet['InstanceFleetType']: fleet for fleet in asked[0]['InstanceFleets']}
    assert [*fleets] == ['MASTER', 'CORE', 'TASK'] and not {'InstanceGroups', 'MasterInstanceType'} & {*asked[0]}
    assert fleets['TASK']['TargetSpotCapacity'] == 4 and len(fleets['CORE']['InstanceTypeConfigs']) == 2


def test_steps_have_the_runtime_role_that_is_named(account, runtime_roles, inline_model, rows, here):
    words = ('evaluate', inline_model, rows, '--json', '-q')
    assert account.done(*words, *runtime_roles, '--extra-cluster-param', f'ExecutionRoleArn={ROLE}') == here(*words)
    assert ROLE in {getattr(step, 'execution_role', None) for cluster in account.clusters for step in cluster.steps}


def test_a_runtime_role_that_is_missing_is_asked_for(account, runtime_roles, inline_model, rows):
    done = account.elm('evaluate', inline_model, rows, '-q', *runtime_roles)
    assert done.status == 1 and len(done.err.splitlines()) == 1
    assert 'AWS refused AddJobFlowSteps: Runtime roles are required' in done.err
    assert 'using the ExecutionRoleArn parameter' in done.err


def test_a_cluster_that_amazon_takes_away_is_explained(account, inline_model, rows, monkeypatch):
    def lose(cluster, step):
        step.state, cluster.state = 'CANCELLED', 'TERMINATED_WITH_ERRORS'
        cluster.last_state_change_reason = 'All core instances were terminated due to Spot'

    monkeypatch.setattr(account, 'run_step', lose)
    done = account.elm('evaluate', inline_model, rows, '-q')
    assert done.status == 1 and len(done.err.splitlines()) == 1
    assert 'ended before its step: All core instances were terminated due to Spot' in done.err
